"""The printed answer of a kept run is kept: the same text, only of the same run, code and terminal, and never of a damaged run."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

from longhaul.cli.terminal import answer_source, output
from longhaul.laboratory.kept_traces import KeptTraces
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import RunDamaged
from longhaul.orchestrator.system.settings import terminal_variables
from longhaul.results.run import Run
from tests.support.documents import document, keep_recorded

KEY = "a" * 20
DOCUMENT = document(KEY) | {"fidelity": {"checks": []}, "expect": [], "cached": True}


@pytest.fixture
def store(store: Store) -> Store:
    keep_recorded(store, KEY, **DOCUMENT)
    return store


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose answer is made, in turn."""
    found: list[str] = []
    answer = output._answer

    def noted(run: Run, shown: dict[str, object]) -> tuple[str, bool]:
        found.append(run.id)
        return answer(run, shown)

    monkeypatch.setattr(output, "_answer", noted)
    return found


def shown(store: Store, capsys: pytest.CaptureFixture[str], **fields: object) -> str:
    output.show_run(Run(DOCUMENT | fields, KeptTraces(Store(store.settings))))
    return capsys.readouterr().out


def test_an_answer_is_made_once(store: Store, made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    first = shown(store, capsys)
    assert all(word in first for word in ("Congestion window", "utilisation", f"run {KEY}"))
    assert shown(store, capsys) == first
    assert made == [KEY]


def test_an_answer_is_made_again_of_anything_else(
    store: Store, made: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shown(store, capsys)
    assert "9.99" in shown(store, capsys, wall_s=9.99)
    assert shown(store, capsys) == first
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in shown(store, capsys)
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setattr(answer_source, "_FOLDERS", answer_source._FOLDERS[:-1])
    assert shown(store, capsys) == first
    assert made == [KEY] * 5


@pytest.mark.parametrize("name", ["acks.parquet", "drops.parquet", "states.parquet", "manifest.json"])
def test_a_damaged_run_has_no_answer(
    name: str, store: Store, made: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown(store, capsys)
    file = store.directory(KEY) / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(RunDamaged):
        shown(store, capsys)
    assert made == [KEY]
    file.unlink()
    if name != "manifest.json":
        with pytest.raises(RunDamaged):
            shown(store, capsys)


@pytest.mark.parametrize("damage", [b"", b"no text", None])
def test_a_damaged_answer_is_made_again(
    damage: bytes | None, store: Store, made: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = shown(store, capsys)
    file = store.derived(KEY) / "answer.txt"
    file.write_bytes(file.read_bytes().replace(b"utilisation", b"utilization") if damage is None else damage)
    assert shown(store, capsys) == first
    assert made == [KEY] * 2


def test_a_home_that_cannot_be_written_goes_without(
    store: Store, made: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    store.derived(KEY).parent.mkdir(parents=True)
    store.derived(KEY).write_text("no folder")
    assert shown(store, capsys) == shown(store, capsys)
    assert made == [KEY] * 2


def test_an_answer_without_its_chart_is_not_kept(
    store: Store, made: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhaul.orchestrator.plan.run.FORMAT", 0)
    assert "no chart: " in shown(store, capsys)
    monkeypatch.undo()
    monkeypatch.setenv("LONGHAUL_HOME", str(store.home))
    assert "no chart: " not in shown(store, capsys)


def test_the_variables_are_those_that_rich_reads() -> None:
    read = set()
    for file in importlib.metadata.files("rich") or ():
        if file.suffix == ".py":
            read |= set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', Path(file.locate()).read_text()))
    assert {"COLUMNS", "TERM", "NO_COLOR"} < read
    assert read <= set(terminal_variables())
