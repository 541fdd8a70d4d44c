"""Kernels that admins sent, beside those of the machine: their records, their names, and that none runs unconfined. None is compiled."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.fence import unconfined
from longhaul.orchestrator.kernels import build_trees, named_kernels, sent_kernels
from longhaul.orchestrator.kernels.named_kernels import Source
from longhaul.orchestrator.kernels.sent_kernels import SentBuild
from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.system.errors import BackendError, DiskFull, NotFound, PlanError
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.settings import Settings
from tests.unit.kernels.test_named_kernels import linux as linux
from tests.unit.kernels.test_named_kernels import settings as settings


def queue(settings: Settings, name: str, source: Source) -> Path:
    """A small kernel that was sent and waits for its build, which fails: the sandbox's patches do not apply to it. The file of its record."""
    kernel = named_kernels.add(settings, name, source, sent=True)
    record = SentBuild("1", name, "an admin", "queued", "2026-01-01T00:00:00+00:00", kernel.content())
    file = settings.cache / "kernels" / "sent" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(record)))
    return file


# Names of files that are beside the records.
@pytest.mark.parametrize("name", ["mine", "records", "build", "build-mine", "lock", "x.json"])
def test_a_failed_build_leaves_its_record(name: str, settings: Settings, linux: Source) -> None:
    queue(settings, name, linux)
    assert sent_kernels.build_next(settings)
    (record,) = sent_kernels.builds(settings)
    assert (record.name, record.status) == (name, "failed")
    assert record.error is not None
    assert named_kernels.names(settings) == []
    assert not sent_kernels.build_next(settings)
    sent_kernels.remove_any(settings, name)
    assert sent_kernels.builds(settings) == []


def test_a_build_that_was_killed_too_often_has_failed(settings: Settings, linux: Source) -> None:
    file = queue(settings, "mine", linux)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"status": "building", "attempts": 3}))
    work = settings.cache / "kernels" / "sent-builds" / "mine"
    (work / "tree").mkdir(parents=True)
    assert sent_kernels.build_next(settings)
    (record,) = sent_kernels.builds(settings)
    assert record.error is not None
    assert "its build was killed 3 times" in record.error["what"]
    assert not sent_kernels.build_next(settings)
    assert not work.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "1"}'])
def test_a_damaged_record_is_none(text: str, settings: Settings, linux: Source) -> None:
    queue(settings, "mine", linux).write_text(text)
    queue(settings, "other", linux)
    assert [record.name for record in sent_kernels.waiting(settings)] == ["other"]
    sent_kernels.remove(settings, "mine", ())
    assert named_kernels.names(settings) == ["other"]
    with pytest.raises(NotFound):
        sent_kernels.remove(settings, "mine", ())


def test_the_machine_removes_but_does_not_replace_a_sent_kernel(settings: Settings, linux: Source) -> None:
    queue(settings, "mine", linux)
    with pytest.raises(PlanError, match="an admin sent the kernel with this name to the service; run `longhaul kernel"):
        named_kernels.add(settings, "mine", linux, again=True)
    sent_kernels.remove_any(settings, "mine")
    assert (named_kernels.names(settings), sent_kernels.builds(settings)) == ([], [])
    named_kernels.add(settings, "mine", linux)
    sent_kernels.remove_any(settings, "mine")
    with pytest.raises(NotFound):
        sent_kernels.remove_any(settings, "mine")


def test_a_sent_kernel_starts_in_confinement_only(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"sent": True}))
    with pytest.raises(BackendError, match="it would not be confined here"):
        unconfined([str(tmp_path / "linux"), "mem=1M"])
    manifest.write_text("{}")
    assert unconfined([str(tmp_path / "linux")]) == [str(tmp_path / "linux")]


def test_a_patch_that_takes_hours_ends(settings: Settings, linux: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 20_000
    (Path(linux.place) / "net" / "many").write_text("\n" * 100 * lines)
    hunk = (
        f"@@ -{50 * lines},{2 * lines + 1} +{50 * lines},{2 * lines + 2} @@\n"
        + " \n" * lines
        + " x\n+y\n"
        + " \n" * lines
    )
    read = named_kernels.read_source(settings, SourceTrees(settings.cache), linux)
    monkeypatch.setattr(named_kernels, "read_source", lambda *_: read)
    monkeypatch.setattr(sent_kernels, "_APPLY_S", 1)
    settings = replace(settings, kernel_build_mb=1)
    patch = ("slow.patch", f"--- a/net/many\n+++ b/net/many\n{hunk}")
    with pytest.raises(PlanError, match="it was not applied in the time that the patches of a kernel may take"):
        sent_kernels.submit(settings, "mine", Source("version", "6.12"), [patch], [], "an admin", [])
    assert (named_kernels.names(settings), sent_kernels.builds(settings)) == ([], [])


def test_a_name_is_free_when_all_of_its_former_kernel_is_gone(settings: Settings, linux: Source) -> None:
    queue(settings, "mine", linux)
    with ThreadPoolExecutor() as threads:
        with build_trees.held(settings, "mine"):
            removal = threads.submit(sent_kernels.remove, settings, "mine", ())
            while sent_kernels.builds(settings):
                time.sleep(0.01)
            with pytest.raises(BlockingIOError), locked(settings.cache / "kernels" / "sent" / ".lock", wait=False):
                pytest.fail("a kernel can be sent")
            assert named_kernels.names(settings) == ["mine"]
        removal.result()
    assert named_kernels.names(settings) == []


def test_an_archive_is_received_only_with_space_for_it(settings: Settings) -> None:
    with (
        pytest.raises(DiskFull, match="MiB are free, and"),
        sent_kernels.receiving(replace(settings, kernel_build_mb=10**9), "linux.tar"),
    ):
        pytest.fail("it was received")
