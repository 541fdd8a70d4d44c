"""Unexpected errors and unusable homes: one sentence and exit code 4, never the 1 of a missed expectation."""

from __future__ import annotations

import json
import re
import resource
import shutil
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from longhaul.orchestrator.results.backup import back_up
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import ResultsError, SpecError, visible
from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.documents import keep
from tests.support.programs import run_program

HERE = [sys.executable, "-m", "longhaul"]
# A user whom the machine does not know, without privileges.
APART = ["unshare", "--user", "--map-user=54321", "--map-group=54321", "--"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    return Store(load_settings())


def change(store: Store, statement: str) -> None:
    store.database.close()
    database = sqlite3.connect(store.home / "catalogue.sqlite")
    with database:
        database.execute(statement)
    database.close()


def test_a_user_without_a_home_is_asked_for_a_folder(tmp_path: Path) -> None:
    """As in a container with any user id."""
    for settings, named in (
        ({}, "LONGHAUL_HOME"),
        ({"LONGHAUL_HOME": str(tmp_path)}, "LONGHAUL_CACHE"),
        ({"LONGHAUL_HOME": "~/lab"}, "LONGHAUL_HOME"),
    ):
        command = [*APART, *HERE, "run", "quick"]
        done = run_program(command, env=settings)
        assert done.returncode == 2
        assert done.stderr == (
            f"longhaul: reading setting {named}: user 54321 has no home folder: HOME is not set, and the machine does not know "
            f"the user; set {named}, or HOME, to a folder\n"
        )


def test_a_value_that_is_not_text_is_refused() -> None:
    done = run_program([*HERE, "plan", "quick", "--set", b"duration=\xff"])
    assert (done.returncode, done.stderr) == (
        2,
        "longhaul: reading the arguments: a value has bytes that are not UTF-8; write it in UTF-8\n",
    )


def test_the_cache_of_another_user_is_named(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "kernels").mkdir(parents=True)
    (cache / "kernels").chmod(0)
    settings = {"HOME": str(tmp_path), "LONGHAUL_CACHE": str(cache)}
    command = [*APART, *HERE, "kernel", "list"]
    done = run_program(command, env=settings)
    assert (done.returncode, done.stderr) == (
        4,
        f"longhaul: listing kernels in {cache}/kernels: Permission denied; set LONGHAUL_CACHE to a folder that this user can read\n",
    )


def test_an_unexpected_error_exits_with_4_and_writes_its_traceback_to_a_file(store: Store) -> None:
    keep(store)
    # Longhaul never writes such a row.
    change(store, "UPDATE runs SET point = '{'")
    for words in (("list", "runs"), ("list", "runs", "--json")):
        done = longhaul(*words, home=store.home)
        assert done.returncode == 4
        match = re.fullmatch(
            r"longhaul: running longhaul list runs: an unexpected error happened \(JSONDecodeError: .*\); "
            r"please report it; the traceback is in (\S+)\n",
            done.stderr,
        )
        assert match, done.stderr
        file = Path(match[1])
        assert file.parent == store.home / "logs"
        assert "Traceback (most recent call last)" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(done.stdout)["error"]["error"] == "LonghaulError"


def test_a_traceback_goes_to_the_cache_if_the_home_cannot_have_it(store: Store, tmp_path: Path) -> None:
    keep(store)
    change(store, "UPDATE runs SET point = '{'")
    (store.home / "logs").write_text("no folder")
    done = longhaul("list", "runs", home=store.home)
    assert done.returncode == 4
    assert f"the traceback is in {tmp_path / 'cache' / 'logs'}/crash-" in done.stderr


def test_a_database_of_a_newer_version_is_reported_and_unchanged(store: Store) -> None:
    keep(store)
    change(store, "UPDATE alembic_version SET version_num = 'zzzz9999'")
    before = (store.home / "catalogue.sqlite").read_bytes()
    for words in (("list", "runs"), ("show", "a"), ("backup", str(store.home / "x.tar"))):
        done = longhaul(*words, home=store.home)
        assert done.returncode == 4
        assert "a newer version of Longhaul wrote it (revision zzzz9999" in done.stderr
        assert "Traceback" not in done.stderr
    assert (store.home / "catalogue.sqlite").read_bytes() == before


@pytest.mark.parametrize("limit_mb", [50, 100, 200, 300, 400])
def test_too_little_memory_exits_with_4(store: Store, limit_mb: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit_mb * 2**20, limit_mb * 2**20))

    words = [*HERE, "run", "quick"]
    done = run_program(words, preexec_fn=limit)
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("longhaul: ")
    assert len(done.stderr.splitlines()) == 1
    assert "MiB" in done.stderr


@pytest.mark.parametrize(
    ("damage", "hint"),
    [
        (
            lambda file: file.write_bytes(b"this is no database, it is a text that is long enough" * 20),
            "restore a backup",
        ),
        (lambda file: file.write_bytes(file.read_bytes()[:4096] + b"\xff" * 40_000), "restore a backup"),
    ],
)
def test_a_damaged_database_is_reported_as_damaged(store: Store, damage: object, hint: str) -> None:
    keep(store)
    store.database.close()
    file = store.home / "catalogue.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA journal_mode=DELETE")
    assert callable(damage)
    damage(file)
    with pytest.raises(ResultsError, match=hint) as raised:
        Store(store.settings).list_runs(5)
    assert "free some space" not in str(raised.value)


def test_a_locked_database_is_reported_as_locked(store: Store) -> None:
    keep(store)
    blocking = sqlite3.connect(store.home / "catalogue.sqlite", isolation_level=None)
    blocking.execute("BEGIN IMMEDIATE")
    with pytest.raises(ResultsError, match="another program has been writing to it for long") as raised:
        Store(store.settings, patience_s=0.1).catalog.pin("a" * 20, True)
    blocking.close()
    assert "space" not in str(raised.value)


def test_a_home_on_a_read_only_disk_can_be_read(store: Store, tmp_path: Path) -> None:
    key = keep(store)
    store.revise(store.get(key) | {"measured_by": "yesterday"})
    store.database.close()
    shutil.copytree(store.home, tmp_path / "copy")
    fixed = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(store.home), str(store.home), *HERE]
    for words in (["list", "runs"], ["show", key], ["show", key, "--json"], ["verify", "--all"]):
        done = run_program([*fixed, *words])
        assert done.returncode == 0, done.stderr
        assert key in done.stdout or "1 whole" in done.stdout
    done = run_program([*fixed, "pin", key])
    assert done.returncode == 4
    assert "set LONGHAUL_HOME to a folder you may write" in done.stderr


def test_rows_that_are_still_in_the_log_are_read_on_a_read_only_disk(store: Store, tmp_path: Path) -> None:
    """A killed process left its last rows in the log next to the database."""
    keep(store)
    copy = tmp_path / "copy"
    shutil.copytree(store.home, copy)
    assert (copy / "catalogue.sqlite-wal").stat().st_size > 0
    fixed = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(copy), str(copy), "--setenv", "LONGHAUL_HOME", str(copy)]
    done = run_program([*fixed, *HERE, "list", "runs"])
    assert done.returncode == 0, done.stderr
    assert "a" * 20 in done.stdout


def test_only_the_owner_can_read_the_database_and_its_backups(store: Store, tmp_path: Path) -> None:
    keep(store)
    back_up(store, tmp_path / "home.tar")
    for file in (*store.home.glob("catalogue.sqlite*"), tmp_path / "home.tar"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_no_text_changes_the_direction_of_a_terminal(tmp_path: Path) -> None:
    written = {
        "experiment": "x",
        "path": {"bandwidth": "8 Mbit/s", "rtt": "40 ms"},
        "flows": [{"name": "a", "cc": "reno"}],
    }
    file = tmp_path / "turned.yaml"
    file.write_text(json.dumps(written | {"about": "abc \u202e fed"}, ensure_ascii=False))
    done = longhaul("plan", str(file), home=tmp_path / "home")
    assert done.returncode == 2
    assert "control characters are not allowed" in done.stderr
    done = longhaul("plan", "quick", "--set", "path.\u202ertt=1 ms", home=tmp_path / "home")
    assert done.returncode == 2
    assert "\u202e" not in done.stderr
    assert visible("a\u202eb\x1b[31m \u00e9") == "a\\u202eb\\x1b[31m \u00e9"
    with pytest.raises(SpecError):
        parse_experiment(written | {"flows": [{"name": "a\u2066", "cc": "reno"}]})
