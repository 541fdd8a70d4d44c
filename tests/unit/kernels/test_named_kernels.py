"""Kernels with a name: what they consist of, and what is refused, without compiling one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from longhaul.orchestrator.kernels import build_trees, named_kernels
from longhaul.orchestrator.kernels.build import built_kernels, find_kernels, known_kernels
from longhaul.orchestrator.kernels.named_kernels import Source
from longhaul.orchestrator.kernels.release_lock import effect_of, patches_for
from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.system.errors import LonghaulError, NotFound, PlanError
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.small_linux import commit, write_linux
from tests.unit.kernels.test_source_trees import patch_of


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(load_settings(), cache=tmp_path / "cache", prebuilt=False)


@pytest.fixture
def linux(tmp_path: Path) -> Source:
    return Source("folder", str(write_linux(tmp_path / "linux")))


def test_a_kernel_has_a_source_patches_and_configuration(settings: Settings, linux: Source, tmp_path: Path) -> None:
    patch = patch_of(tmp_path, "int beta = 717;", "int beta = 600;", at=3)
    added = named_kernels.add(settings, "mine", linux, [patch], ["CONFIG_NET_SCH_ETF=m", " CONFIG_IPV6=n"])
    patch.unlink()
    assert named_kernels.find(settings, "mine") == added
    assert added.release == "6.12.34-rc1"
    assert added.config == ("CONFIG_NET_SCH_ETF=m", "# CONFIG_IPV6 is not set")
    assert [*added.offsets()] == [
        "own.patch: hunk 1 of net/ipv4/tcp_cubic.c at line 2, -2 lines from where the patch says"
    ]
    assert json.loads(json.dumps(added.content()))["source"]["kind"] == "folder"
    (row,) = find_kernels(settings, "mine")
    assert not row["built"]
    assert any(line.startswith("patch: own.patch (") for line in row["parts"])
    build_trees.remove(settings, "mine")
    assert named_kernels.names(settings) == []


def test_kernels_are_listed_while_one_is_deleted_and_added(settings: Settings, linux: Source, tmp_path: Path) -> None:
    named_kernels.add(settings, "mine", linux)
    place, aside = named_kernels.folder_of_names(settings) / "mine", tmp_path / "aside"
    ended = Event()

    def move() -> None:
        while not ended.is_set():
            place.rename(aside)
            aside.rename(place)

    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(move)
        try:
            seen = {len(built_kernels(settings)) for _ in range(100)}
        finally:
            ended.set()
        moving.result()
    assert seen <= {len(known_kernels()), len(known_kernels()) + 1}


def test_patches_about_speed_or_parts_may_be_missing(
    settings: Settings, linux: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch of the user's that has rewritten their lines stops no build; one about truth does."""
    own = patch_of(tmp_path, "int beta = 717;", "int beta = 600;")
    kernel = named_kernels.add(settings, "mine", linux, [own])
    trees = SourceTrees(settings.cache)
    unfit = own.rename(tmp_path / "unfit.patch")
    fit = patch_of(tmp_path, "int reno;", "long reno;", "net/ipv4/tcp_reno.c")
    monkeypatch.setattr(
        build_trees, "patches_for", lambda _: [(unfit, "speed"), (unfit, "parts"), (fit, "truth"), (fit, "parts")]
    )
    tree, absent = build_trees.apply_ours(trees, kernel)
    assert absent == ["unfit.patch", "unfit.patch", "own.patch"]
    assert tree != kernel.tree
    monkeypatch.setattr(build_trees, "patches_for", lambda _: [(unfit, "truth")])
    with pytest.raises(PlanError, match="does not fit"):
        build_trees.apply_ours(trees, kernel)


def test_a_missing_patch_has_its_effect_named() -> None:
    effects = {purpose: effect_of(file.name) for file, purpose in patches_for("6.12")}
    assert effects == {
        "truth": "",
        "speed": " and makes runs faster only",
        "parts": " and matters only to a run in parts",
    }
    assert effect_of("0099-of-an-earlier-release.patch") == ""


def test_two_processes_may_remove_a_kernel_at_once(settings: Settings, linux: Source) -> None:
    named_kernels.add(settings, "mine", linux)
    with ThreadPoolExecutor(2) as both:
        with build_trees.held(settings, "mine"):
            removals = [both.submit(build_trees.remove, settings, "mine") for _ in range(2)]
            assert not wait(removals, timeout=0.5).done
        assert [removal.result() for removal in removals] == [None, None]
    assert named_kernels.names(settings) == []


def test_a_name_belongs_to_one_kernel_until_it_is_replaced(settings: Settings, linux: Source, tmp_path: Path) -> None:
    first = named_kernels.add(settings, "mine", linux)
    with pytest.raises(PlanError, match="there is a kernel with this name; choose another name, or use --replace"):
        named_kernels.add(settings, "mine", linux)
    revision = commit(Path(linux.place), "first")
    second = named_kernels.add(settings, "mine", Source("revision", linux.place, revision="main"), again=True)
    assert second.source.commit == revision
    assert second.tree == first.tree
    (tmp_path / "linux/net/ipv4/tcp_cubic.c").write_text("changed\n")
    named_kernels.add(settings, "other", linux)
    assert "+changed" in named_kernels.diff(settings, "mine", "other")
    assert named_kernels.diff(settings, "mine", "mine") == ""
    named_kernels.add(settings, "more", linux, config=["CONFIG_NET_SCH_ETF=m"])
    assert named_kernels.diff(settings, "other", "more") == "configuration:\n+CONFIG_NET_SCH_ETF=m\n"


@pytest.mark.parametrize("name", ["6.12", "Mine", "-mine", "a b", "a/b", "..", "", "a" * 41])
def test_names_that_are_none(name: str, settings: Settings, linux: Source) -> None:
    with pytest.raises(PlanError, match="a name has up to 40"):
        named_kernels.add(settings, name, linux, taken=known_kernels())
    with pytest.raises(NotFound):
        named_kernels.find(settings, name)


@pytest.mark.parametrize(
    "line", ["NET=y", "CONFIG_NET", "CONFIG_NET=yes", "CONFIG_NET=y\nCONFIG_X=y", 'CONFIG_X="a"b"', ""]
)
def test_lines_of_configuration_that_are_none(line: str, settings: Settings, linux: Source) -> None:
    with pytest.raises(PlanError, match="that is no line of a kernel's configuration"):
        named_kernels.add(settings, "mine", linux, config=[line])
    assert named_kernels.names(settings) == []


@pytest.mark.parametrize("line", ["CONFIG_UML_TIME_TRAVEL_SUPPORT=n", "# CONFIG_UML_TIME_TRAVEL_SUPPORT is not set"])
def test_no_line_of_configuration_takes_the_virtual_time_away(line: str, settings: Settings, linux: Source) -> None:
    with pytest.raises(PlanError, match="a guest without time travel runs in real time"):
        named_kernels.add(settings, "mine", linux, config=[line])
    assert named_kernels.names(settings) == []
    named_kernels.add(settings, "mine", linux, config=["CONFIG_UML_TIME_TRAVEL_SUPPORT=y"])


def test_what_fails_leaves_nothing_and_names_the_known_kernels(
    settings: Settings, linux: Source, tmp_path: Path
) -> None:
    with pytest.raises(LonghaulError, match=r"applying the patch .*nothing.patch"):
        named_kernels.add(settings, "mine", linux, [tmp_path / "nothing.patch"])
    with pytest.raises(PlanError, match=r"looking for the kernel 6.13: kernel.lock has no such version; known: 6.12"):
        named_kernels.add(settings, "mine", Source("version", "6.13"))
    assert named_kernels.names(settings) == []
    named_kernels.add(settings, "mine", linux)
    with pytest.raises(NotFound, match="known: mine, nearest: mine"):
        named_kernels.find(settings, "mime")
    with pytest.raises(NotFound, match=r"known: 6.12, 6.1, 5.10, 7.3, 6.12-debug, mine"):
        find_kernels(settings, "other")
    (settings.cache / "kernels/named/mine/kernel.json").write_text("{")
    with pytest.raises(LonghaulError, match="its file is damaged; run `longhaul kernel remove mine` and add it again"):
        named_kernels.find(settings, "mine")
    build_trees.remove(settings, "mine")
