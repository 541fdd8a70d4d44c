"""Archives and trees that admins send: hostile names, sizes and links are refused in one sentence, and nothing is written outside."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.kernels import archives
from longhaul.orchestrator.kernels.archives import unpack_checked
from longhaul.orchestrator.kernels.tree_rules import check_entries, leaves
from longhaul.orchestrator.system.errors import LonghaulError, PlanError, TooLarge
from longhaul.orchestrator.system.settings import load_settings


def unpack(folder: Path, *members: tarfile.TarInfo) -> None:
    """Pack these members, with zeros as their content, and unpack them."""
    file, target = folder / "linux.tar", folder / "tree"
    target.mkdir()
    with tarfile.open(file, "w") as packed:
        for member in members:
            packed.addfile(member, io.BytesIO(bytes(member.size)))
    unpack_checked(file, target, "linux.tar", replace(load_settings(), kernel_build_mb=256))


def member(
    name: str, content: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "", **more: str
) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size, found.type, found.linkname, found.pax_headers = content, kind, target, more
    return found


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (member("linux/" + "a/" * 20_000 + "x"), "has a name of more than 1000 bytes"),
        (member("linux/" + "a/" * 200_000 + "x"), "a name is too long"),
        (member("linux/" + "a" * 300), "a name in it is too long for the disk"),
        (member("linux/x", size="²"), "a member has no size"),
        (member("linux/x", size="9" * 5000), "a member has no size"),
        (member("linux/x", size="-1"), "a member has no size"),
        (member("linux/Makefile", 65 << 20), "its file Makefile has more than 65536 KiB"),
        (member("linux/net/.gitignore", 100_000), "its file net/.gitignore has more than 64 KiB"),
        (member("linux/link", kind=tarfile.SYMTYPE, linkpath="a\0b"), "outside the tree"),
        (member("linux/link", kind=tarfile.SYMTYPE, target="a/../../b"), "leads to a/../../b, outside the tree"),
        (member("linux/link", kind=tarfile.SYMTYPE, target="a/" * 600), "outside the tree"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_hostile_member_is_refused(one: tarfile.TarInfo, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(LonghaulError) as refused:
        unpack(tmp_path, member("linux/Kconfig", 10), one)
    assert isinstance(refused.value, PlanError | TooLarge)
    assert sentence in refused.value.what
    assert len(refused.value.what) < 400


def test_deep_folders_are_made(tmp_path: Path) -> None:
    unpack(tmp_path, member("linux/" + "a/" * 400 + "x", 1))
    assert (tmp_path / "tree" / ("a/" * 400) / "x").read_bytes() == b"\0"


def test_folders_that_only_names_mention_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_ENTRIES", 100)
    with pytest.raises(TooLarge, match="it has more than 100 files, folders and links"):
        unpack(tmp_path, member("linux/" + "a/" * 101 + "x"))


def test_names_have_a_total_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_NAMES_BYTES", 1 << 20)
    names = (f"linux/{number}/{'a' * 240}/{'b' * 240}/{'c' * 240}/d" for number in range(600))
    with pytest.raises(TooLarge, match="its names have more than 1 MiB"):
        unpack(tmp_path, *map(member, names))


def test_members_that_make_nothing_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_MEMBERS", 1000)
    with pytest.raises(TooLarge, match="it has more than 1000 members"):
        unpack(tmp_path, *[member("linux", kind=tarfile.DIRTYPE)] * 1001)


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("link", "net", False),
        ("a/b/link", "../../net/./ipv4", False),
        ("link", "..", True),
        ("a/b/link", "../../../x", True),
        ("link", "/etc", True),
        # Where a leads, its parent is elsewhere.
        ("link", "a/../x", True),
        ("a/link", "../b/../x", True),
    ],
)
def test_a_link_that_may_lead_out_of_a_tree(path: str, target: str, out: bool) -> None:
    assert leaves(path, target) is out


@pytest.mark.parametrize(
    ("listing", "sentence"),
    [
        ("100644 blob 1 70000000\ta\0", "its file a has more than 65536 KiB"),
        ("".join(f"100644 blob 1 60000000\t{number}\0" for number in range(20)), "more than 1000 MiB"),
        ("".join(f"120000 blob 1 1\t{number}\0" for number in range(1001)), "more than 1000 links"),
        ("160000 commit 1 -\tsub\0", "sub is neither a file nor a link"),
        ("100644 blob 1 65537\ta/.gitattributes\0", "its file a/.gitattributes has more than 64 KiB"),
    ],
    ids=lambda value: value[:40],
)
def test_a_tree_that_is_refused(listing: str, sentence: str) -> None:
    with pytest.raises((PlanError, TooLarge), match=sentence):
        check_entries(listing, lambda link: "x", "adding the kernel", "mine", 1000 << 20)
