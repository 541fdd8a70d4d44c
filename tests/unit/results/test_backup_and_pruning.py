"""Retention and backups: runs that pruning removes and keeps, and a backup that restores everything."""

from __future__ import annotations

import csv
import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.database.access.tokens import Access
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.work import Work
from longhaul.orchestrator.results.backup import back_up, restore
from longhaul.orchestrator.results.packets import PACKETS
from longhaul.orchestrator.results.pruning import prune
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import PlanError, ResultsError
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.documents import document, keep_recorded
from tests.support.queue import Lab


def lab_of(store: Store) -> Lab:
    assert store.database.file is not None
    return Lab(f"sqlite:///{store.database.file}")


def test_the_oldest_runs_go_first_and_protected_ones_stay(store: Store) -> None:
    for key in ("pinned", "wanted", "based", "oldest", "newest"):
        keep_recorded(store, key)
    store.catalog.pin("pinned", True)
    lab = lab_of(store)
    lab.submit("e", ["wanted", "waits"])
    lab.submit("f", ["based"])
    lab.experiments.set_baseline("x", "main", "f", "ada")
    one = sum(file.stat().st_size for file in store.directory("oldest").iterdir())
    planned = prune(store, None, 4 * one, dry=True)
    assert planned.runs == ["oldest"]
    assert store.find("oldest") is not None
    assert prune(store, None, 4 * one, dry=False).runs == ["oldest"]
    assert store.find("oldest") is None
    assert not store.directory("oldest").exists()
    assert prune(store, 3600.0, None, dry=False).runs == []
    assert prune(store, 0.0, 0, dry=False).runs == ["newest"]
    assert {row["run"] if "run" in row else row["id"] for row in store.list_runs(10)} == {"pinned", "wanted", "based"}


def test_packets_stay_and_count_with_their_run(store: Store) -> None:
    for key in ("with", "without"):
        keep_recorded(store, key)
    derived = store.derived("with")
    derived.mkdir(parents=True)
    (derived / PACKETS).write_bytes(bytes(1000))
    (derived / "capture.json").write_text(json.dumps({"capture": {"name": "lh_capture", "params": {}}, "bytes": 1000}))
    (derived / "acks.csv").write_text("old")
    for file in derived.iterdir():
        os.utime(file, (0, 0))
    one = sum(file.stat().st_size for file in store.directory("with").iterdir())
    assert prune(store, None, 2 * one + 1100, dry=False).runs == []
    assert sorted(file.name for file in derived.iterdir()) == ["capture.json", PACKETS]
    assert prune(store, None, 2 * one + 900, dry=False).runs == ["with"]
    assert not derived.exists()


def test_kept_runs_are_listed_for_people_and_for_programs(store: Store) -> None:
    keep_recorded(store, "a" * 20)
    (row,) = json.loads(longhaul("list", "runs", "--json", home=store.home).stdout)
    assert (row["id"], row["point"], row["controls"]) == ("a" * 20, {}, "cubic reno")
    assert "words" not in row
    head, line = longhaul("list", "runs", home=store.home).stdout.splitlines()
    assert head.split() == ["run", "experiment", "status", "seed", "cc", "path", "made"]
    assert line.startswith("a" * 20)


def test_kept_runs_are_sorted_and_found_and_written_as_csv(store: Store) -> None:
    for key, seed in (("a" * 20, 3), ("b" * 20, 1), ("c" * 20, 2)):
        keep_recorded(store, key, seed=seed, point={"path.rtt": f"{10 * seed} ms"})

    def ids(*options: str) -> list[str]:
        return [
            row["id"][0] for row in json.loads(longhaul("list", "runs", *options, "--json", home=store.home).stdout)
        ]

    assert ids("--sort", "seed") == ids("--sort", "point.path.rtt") == ["b", "c", "a"]
    assert ids("--sort", "-seed", "--limit", "2") == ["a", "c"]
    assert ids("--find", "rtt=20ms") == ["c"]
    assert ids("--find", "nothing") == []
    table = longhaul("list", "runs", "--csv", "--columns", "goodput", "--sort", "-seed", home=store.home).stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(row["id"][0], row["seed"], row["path.rtt"]) for row in rows] == [
        ("a", "3", "30 ms"), ("c", "2", "20 ms"), ("b", "1", "10 ms"),
    ]  # fmt: skip
    assert list(rows[0]) == ["id", "experiment", "status", "seed", "path.rtt", "goodput_bps", "created_at"]
    refused = longhaul("list", "runs", "--sort", "size", home=store.home)
    assert refused.returncode == 2 and "sorting runs size: an order is `newest`" in refused.stderr
    refused = longhaul("list", "experiments", "--csv", home=store.home)
    assert refused.returncode == 2 and "use `longhaul list runs`" in refused.stderr


def test_a_run_that_becomes_wanted_during_pruning_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("old", "older"):
        keep_recorded(store, key)
    known = store.catalog.removable()

    def removable() -> list[tuple[str, str]]:
        lab_of(store).submit("e", ["old", "waits"])
        return known

    monkeypatch.setattr(store.catalog, "removable", removable)
    pruned = prune(store, 0.0, None, dry=False)
    assert pruned.runs == ["older"]
    assert store.find("old") == document("old")


def test_a_backup_restores_everything(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "a" * 20)
    lab = lab_of(store)
    lab.submit("e", ["a" * 20, "b" * 20])
    lab.claim(1)
    token, _ = Access(store.database).add_token("ci", "run")
    saved = back_up(store, tmp_path / "home.tar")
    assert saved.runs == 1
    other = Store(replace(load_settings(), home=tmp_path / "other"))
    assert restore(other, tmp_path / "home.tar").runs == 1
    assert other.find("a" * 20) == document("a" * 20)
    assert other.trace("a" * 20).acks.tobytes() == store.trace("a" * 20).acks.tobytes()
    assert Experiments(other.database).get("e")["status"] == "queued"
    assert Access(other.database).caller(token).name == "ci"
    # The holders of claims no longer exist.
    assert [claim.run_id for claim in Work(other.database).claim("me", 5, lease_s=9.0, most_each=9)] == ["b" * 20]
    assert EventLog(other.database).newest() > EventLog(store.database).newest(), "ids continue after the former ones"


def test_restoring_never_overwrites_and_never_half(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "a" * 20)
    back_up(store, tmp_path / "home.tar")
    with pytest.raises(PlanError, match="it contains runs"):
        restore(store, tmp_path / "home.tar")
    other = Store(replace(load_settings(), home=tmp_path / "other"))
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(ResultsError, match="is it a file of"):
        restore(other, tmp_path / "text")
    with locked(other.home / "dispatch.lock"), pytest.raises(PlanError, match="a service is running"):
        restore(other, tmp_path / "home.tar")
    assert other.list_runs(5) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../../reached", tarfile.REGTYPE),
        ("/reached", tarfile.REGTYPE),
        ("runs/reached", tarfile.SYMTYPE),
        ("runs/reached", tarfile.FIFOTYPE),
    ],
)
def test_an_archive_cannot_reach_out_of_the_home(store: Store, tmp_path: Path, name: str, kind: bytes) -> None:
    keep_recorded(store, "a" * 20)
    back_up(store, tmp_path / "home.tar")
    evil = tmp_path / "evil.tar"
    with tarfile.open(tmp_path / "home.tar") as source, tarfile.open(evil, "w") as target:
        for member in source:
            target.addfile(member, source.extractfile(member))
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "/etc/passwd"
        target.addfile(info)
    other = Store(replace(load_settings(), home=tmp_path / "deep" / "other"))
    with pytest.raises(ResultsError, match="is not a plain file of a home"):
        restore(other, evil)
    assert not (tmp_path / "reached").exists()
    assert other.list_runs(5) == []


def changed(source: Path, name: str, content: bytes) -> Path:
    """The same archive with another content of one of its files."""
    target = source.with_name("changed.tar")
    with tarfile.open(source) as before, tarfile.open(target, "w") as after:
        for member in before:
            there = before.extractfile(member)
            if member.name == name:
                member.size, there = len(content), io.BytesIO(content)
            after.addfile(member, there)
    return target


@pytest.mark.parametrize("about", [b"[]", b"3", b"null", b'"longhaul"', b"{}", b'{"format": []}', b'{"format": 2}'])
def test_a_manifest_of_an_unknown_format_is_refused(store: Store, tmp_path: Path, about: bytes) -> None:
    back_up(store, tmp_path / "home.tar")
    other = Store(replace(load_settings(), home=tmp_path / "other"))
    with pytest.raises(ResultsError, match=r"its format is .*, this version reads 1"):
        restore(other, changed(tmp_path / "home.tar", "longhaul-backup.json", about))
    assert other.list_runs(5) == []


@pytest.mark.parametrize("record", [b"[]", b"3", b"null", b'{"id": "a"}', b"{", b"\xff"])
def test_an_invalid_database_is_refused(store: Store, tmp_path: Path, record: bytes) -> None:
    keep_recorded(store, "a" * 20)
    back_up(store, tmp_path / "home.tar")
    other = Store(replace(load_settings(), home=tmp_path / "other"))
    with pytest.raises(ResultsError, match="is it a file of"):
        restore(other, changed(tmp_path / "home.tar", "record.jsonl", record))
    assert other.list_runs(5) == []
    assert not list((other.home / "runs").iterdir()), "no run is left that the database does not have"


def test_leftovers_of_a_killed_restore_are_swept_by_the_next(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "a" * 20)
    back_up(store, tmp_path / "home.tar")
    other = Store(replace(load_settings(), home=tmp_path / "other"))
    left = other.home / "runs" / ".new-of-the-dead" / "runs"
    left.mkdir(parents=True)
    assert restore(other, tmp_path / "home.tar").runs == 1
    assert [folder.name for folder in (other.home / "runs").iterdir()] == ["aa"]


def test_a_database_of_another_version_is_refused(store: Store, tmp_path: Path) -> None:
    from longhaul.orchestrator.database.dump import load

    line = json.dumps({"table": "runs", "revision": "0001"})
    with pytest.raises(ResultsError, match="revision 0001"):
        load(store.database, [line], "home.tar", lambda: None)
