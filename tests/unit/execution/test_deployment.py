"""Reports of deployments, and the files that are sent to hosts; without a host."""

from __future__ import annotations

import io
import json
import os
import runpy
import stat
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhaul.cli.machine.deploy import _exit_code
from longhaul.orchestrator.execution import deployment
from longhaul.orchestrator.execution.deployment import HostOutcome
from longhaul.orchestrator.system.installation import PLAYBOOKS

HOST = runpy.run_path(str(PLAYBOOKS / "module_utils/longhaul_host.py"), run_name="longhaul_host")


def test_the_same_files_are_sent_as_the_same_bytes(tmp_path: Path) -> None:
    for name in ("b.ko", "a.ko"):
        (tmp_path / name).write_text(name)
    first = deployment._pack(sorted(tmp_path.glob("*.ko")), "x", tmp_path / "first.tar").read_bytes()
    (tmp_path / "a.ko").touch()
    assert deployment._pack(sorted(tmp_path.glob("*.ko")), "x", tmp_path / "second.tar").read_bytes() == first


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ({"msg": "loading module x:\n refused"}, "loading module x: refused"),
        (
            {"cmd": ["dkms", "build"], "rc": 10, "stdout": "one\nError! two", "stderr": ""},
            "`dkms build` ended with 10: one Error! two",
        ),
        ({"msg": "All items completed", "results": [{"failed": False}, {"failed": True, "msg": "that"}]}, "that"),
    ],
)
def test_a_failed_task_is_reported_with_its_own_message(result: dict[str, Any], sentence: str) -> None:
    assert deployment._why(result) == sentence


@pytest.mark.parametrize(
    ("statuses", "code"),
    [(["ok", "changed"], 0), (["ok", "failed"], 4), (["failed", "unreachable"], 3)],
)
def test_exit_codes_are_those_of_the_contract(statuses: list[str], code: int) -> None:
    assert _exit_code([HostOutcome("a", status) for status in statuses]) == code


def _record(tmp_path: Path) -> Any:
    record = HOST["Record"](tmp_path / "before.json")
    record.data = {"format": 1, "boot": HOST["boot_id"](), "found": {}, "changed": {}}
    return record


def test_the_first_state_found_is_recorded(tmp_path: Path) -> None:
    record = _record(tmp_path)
    record.note("sysctls", "a", "1", "2")
    record.note("sysctls", "a", "2", "3")
    again = HOST["Record"](tmp_path / "before.json").changed("sysctls")["a"]
    assert (again["found"], again["now"]) == ("1", "3")


@pytest.mark.parametrize(("lasting", "found"), [(False, "2"), (True, "1")])
def test_after_another_boot_only_lasting_settings_stay_recorded(tmp_path: Path, lasting: bool, found: str) -> None:
    record = _record(tmp_path)
    record.note("kind", "a", "1", "9", lasting=lasting)
    record.data["changed"]["kind"]["a"]["boot"] = "another"
    record.note("kind", "a", "2", "9", lasting=lasting)
    assert record.changed("kind")["a"]["found"] == found


def test_before_the_first_change_the_state_is_recorded_and_then_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = iter(["first", "second"])
    monkeypatch.setitem(HOST["Record"].note.__globals__, "snapshot", lambda: next(states))
    HOST["Record"](tmp_path / "before.json").note("sysctls", "a", "1", "2")
    HOST["Record"](tmp_path / "before.json").note("sysctls", "b", "3", "4")
    kept = json.loads((tmp_path / "before.json").read_text())
    assert kept["found"] == "first"
    assert {name: entry["found"] for name, entry in kept["changed"]["sysctls"].items()} == {"a": "1", "b": "3"}


def test_nothing_is_changed_without_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setitem(HOST["Record"].note.__globals__, "snapshot", dict)
    with pytest.raises(HOST["Refused"], match=r"recording the state of this host in .* so nothing is changed: "):
        HOST["Record"](tmp_path / "file" / "before.json").note("sysctls", "a", "1", "2")


def _library(name: str, monkeypatch: pytest.MonkeyPatch, **host: Any) -> dict[str, Any]:
    """One of Ansible's modules, on a host with these functions in place of its own."""
    stand_in: Any = SimpleNamespace(**{**HOST, **host})
    monkeypatch.setitem(sys.modules, "ansible.module_utils.longhaul_host", stand_in)
    return runpy.run_path(str(PLAYBOOKS / "library" / f"{name}.py"), run_name=name)


def test_a_cards_changes_of_two_deployments_are_both_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"gro": "on", "lro": "on", "tso": "on"}
    card = dict(found)

    def ethtool(*command: str) -> str:
        assert command[:3] == ("ethtool", "-K", "eth1")
        card[command[3]] = command[4]
        return ""

    record, host = _record(tmp_path), {"read_offloads": lambda device: dict(card), "run": ethtool}
    for wanted in ({"gro": "off", "tso": "off"}, {"gro": "off", "lro": "off", "tso": "off"}):
        _library("longhaul_settings", monkeypatch, **host)["Settings"](record, check=False).offloads("eth1", wanted)
    assert set(card.values()) == {"off"}
    restoring = _library("longhaul_restore", monkeypatch, **host)["Restoring"](record, check=False)
    restoring.settings()
    assert (card, restoring.kept) == (found, [])


def test_a_queue_that_is_restored_already_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = [{"kind": "fq_codel", "handle": "0:", "root": True}]
    record = _record(tmp_path)
    record.note("qdiscs", "eth1", queue, "fq")
    host = {"read_qdiscs": lambda device: queue}
    restoring = _library("longhaul_restore", monkeypatch, **host)["Restoring"](record, check=False)
    restoring.settings()
    assert (restoring.done, restoring.kept) == ([], [])


def test_a_listing_that_fails_is_an_error_and_not_an_empty_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert HOST["read_qdiscs"]() == []
    program = tmp_path / "tc"
    program.write_text("#!/bin/sh\necho 'Connection timed out' >&2; exit 1\n")
    program.chmod(0o755)
    with pytest.raises(HOST["Refused"], match="`tc -j qdisc show`: Connection timed out"):
        HOST["read_qdiscs"]()
    assert HOST["read_qdiscs"]("vec1") == []


def _archive(file: Path, **members: str) -> Path:
    """An archive of small files; a content that begins with `->` is a link."""
    with tarfile.open(file, "w") as tar:
        for name, text in members.items():
            about = tarfile.TarInfo(name.replace("_", "/"))
            about.mode, about.size = 0o644, len(text)
            if text.startswith("->"):
                about.type, about.linkname, about.size = tarfile.SYMTYPE, text[2:], 0
            tar.addfile(about, io.BytesIO(text.encode()))
    return file


def test_a_deployment_writes_only_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only root may give files to root.
    monkeypatch.setattr(os, "fchown", lambda handle, user, group: None)
    lstat = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda path: SimpleNamespace(st_mode=lstat(path).st_mode, st_uid=0, st_gid=0))
    library = _library("longhaul_files", monkeypatch)
    files, host = library["Files"](), tmp_path / "host"
    host.mkdir()
    (tmp_path / "agent").write_text("program")
    files.add_archive(_archive(tmp_path / "modules.tar", a="one", src_b="two"), host)
    files.add_program(tmp_path / "agent", host / "agent")
    files.add_documents({str(host / "limits.json"): {"rate": 1}})
    wanted = {host / "a", host / "src/b", host / "agent", host / "limits.json"}
    assert set(files.differing()) == wanted
    files.write(files.differing())
    assert {path for path in host.rglob("*") if path.is_file()} == wanted
    assert files.differing() == []
    assert [stat.S_IMODE((host / name).stat().st_mode) for name in ("a", "agent", "limits.json")] == [
        0o644,
        0o755,
        0o644,
    ]
    (host / "a").write_text("another")
    (host / "agent").chmod(0o700)
    assert set(files.differing()) == {host / "a", host / "agent"}


@pytest.mark.parametrize(
    ("name", "text", "words"), [(".._a", "text", "is not below"), ("a", "->/etc/passwd", "is not a file")]
)
def test_an_archive_writes_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, words: str
) -> None:
    files = _library("longhaul_files", monkeypatch)["Files"]()
    with pytest.raises(HOST["Refused"], match=words):
        files.add_archive(_archive(tmp_path / "x.tar", **{name: text}), tmp_path / "host")
