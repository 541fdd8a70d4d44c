"""Output on a terminal: charts that keep every spike, tables that fit, one line for each problem."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.console import Console

from longhaul.cli.terminal import in_words
from longhaul.cli.terminal.bars import RunProgress
from longhaul.cli.terminal.console import count_line, flow_table, plain_table, problem_lines, summary_table
from longhaul.cli.terminal.progress import ProgressLines, Tally
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.analysis.report.chart import run_charts
from longhaul.orchestrator.execution.run_rows import kept_runs
from tests.support.recordings import plain_run, recorded, trace_of


def drawn(thing: object, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(thing)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_chart_fits_its_width_and_names_every_flow() -> None:
    run, trace, _ = recorded("lossy_pair")
    text = drawn(run_charts(run, trace, 80, colour=False), 80)
    assert max(map(len, text.splitlines())) <= 80
    for part in ("Congestion window, packets", "Goodput, Mbit/s", "Queue, packets", "a first", "b second", "3 s"):
        assert part in text


def test_kept_runs_fit_a_terminal_and_keep_their_names() -> None:
    row = {
        "id": "38aeb163e5885f3ac5e8", "experiment": "agilesd-fig11-sequential", "status": "done", "point": {}, "seed": 1, "controls": "cubic htcp",
        "bandwidth_bps": 622_000_000, "rtt_us": 300_000, "created_at": "2026-11-22T17:43:28.448+00:00",
        "other_programs": [],
    }  # fmt: skip
    of_before = row | {"id": "f" * 20, "bandwidth_bps": None, "rtt_us": None}
    text = drawn(plain_table(kept_runs([row, of_before])), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(part in text for part in ("38aeb163e5885f3ac5e8", "f" * 20, "622", "300 ms"))
    assert "point" not in text, "the runs have no point"
    assert "other" not in text, "the present programs made them"
    marked = row | {
        "other_programs": ["kernel: 3cfc52daa89d then, d966d155014f now", "agent: none then, 3ad53e26dfca now"]
    }
    text = drawn(plain_table(kept_runs([marked, of_before])), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(part in text for part in ("38aeb163e5885f3ac5e8", "f" * 20, "other", "kernel", "agent"))
    assert "path.rtt=10 ms, flows.app.cc=bbr" in drawn(
        plain_table(kept_runs([row | {"point": {"path.rtt": "10 ms", "flows.app.cc": "bbr"}}])), 200
    )


def test_stored_text_cannot_steer_a_terminal() -> None:
    row = {"name": "x", "about": "up\x9b2J [red]x[/] \u202eback\nsecond \u00e9"}
    text = drawn(plain_table([row]))
    assert "up\\x9b2J [red]x[/] \\u202eback\n" in "\n".join(line.rstrip() for line in text.splitlines())
    assert "second \u00e9" in text


def test_a_chart_keeps_a_spike_of_one_record() -> None:
    run = plain_run(flows=[{"name": "a", "cc": "cubic"}])
    acks = [{"t_ns": tick * 10_000_000, "cwnd": 10, "rtt_us": 40_000} for tick in range(1000)]
    acks[437]["cwnd"] = 1234
    text = drawn(run_charts(run, trace_of(ack=acks), 60, colour=False))
    top = next(line for line in text.splitlines() if "1234" in line)
    assert "a" in top.partition("|")[2]


def test_colours_are_braille_and_none_are_letters() -> None:
    run, trace, _ = recorded("lossy_pair")
    coloured = run_charts(run, trace, 60, colour=True).plain
    assert any(0x2800 < ord(letter) < 0x2900 for letter in coloured)
    assert not any(0x2800 < ord(letter) < 0x2900 for letter in run_charts(run, trace, 60, colour=False).plain)


def documents() -> list[dict[str, Any]]:
    run, trace, facts = recorded("lossy_pair")
    about = {"run": "0123456789", "status": "done", "seed": 1, "cached": False, "expect": []}
    return [about | {"point": {"path.rtt": rtt}} | summarise(run, trace, facts) for rtt in ("20 ms", "40 ms")]


def test_a_table_of_runs_has_a_line_a_flow() -> None:
    lines = drawn(flow_table(documents()), 160).splitlines()
    assert len(lines) == 1 + 2 * 4, "three flows and their total"
    assert "rtt=20 ms" in lines[1]
    assert "second" in lines[2]
    assert "all flows" in lines[4]
    of_before = [{name: value for name, value in one.items() if name != "goodput_total"} for one in documents()]
    assert "all flows" not in drawn(flow_table(of_before), 160)


def test_a_summary_has_a_line_a_point_and_flow_with_intervals() -> None:
    def row(flow: str | None, measure: str, value: float) -> dict[str, Any]:
        interval = {"value": value, "low": value * 0.9, "high": value * 1.1, "n": 3}
        return {"point": {"path.rtt": "20 ms"}, "flow": flow, "measure": measure, **interval}

    text = drawn(summary_table([row("a", "goodput_bps", 5e6), row(None, "utilisation", 0.9)]), 160)
    assert "5 Mbit/s (4.5 Mbit/s - 5.5 Mbit/s)" in text
    assert "90.0% (81.0% - 99.0%)" in text


def test_problems_get_one_line_each_and_runs_are_counted() -> None:
    good, missed = documents()
    missed |= {"status": "missed", "expect": [{"ok": False, "text": "goodput(first) at least 9 Mbit/s: 1e6"}]}
    error = {"attempting": "running guest", "subject": "x", "what": "it died", "hint": "look"}
    failed = {"run": "9999999999", "status": "failed", "error": error, "cached": False}
    assert problem_lines(good) == []
    assert problem_lines(missed) == ["01234567 missed: goodput(first) at least 9 Mbit/s: 1e6"]
    assert problem_lines(failed) == ["99999999 failed: running guest x: it died; look"]
    assert count_line([good, missed, failed]) == "3 runs: 1 done, 1 failed, 1 missed"


def test_a_flow_that_is_alone_has_no_total() -> None:
    document = documents()[0]
    document["flows"] = document["flows"][:1]
    assert "all flows" not in drawn(flow_table([document]), 160)


def test_without_a_terminal_progress_is_an_occasional_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lines = ProgressLines("sweep", [10.0] * 6)
    lines.started(0, "sweep rtt=10 ms seed 1", 60.0)
    for now[0] in (0.9, 1.0, 29.0, 31.0, 32.0):
        lines.reached(0, now[0] / 2)
    now[0] = 40.0
    lines.finished(0, "done", cached=False)
    lines.started(1, "sweep rtt=20 ms seed 1", 60.0)
    now[0] = 80.0
    lines.finished(1, "missed", cached=False)
    lines.finished(2, "done", cached=True)
    assert capsys.readouterr().err.splitlines() == [
        "sweep: 0 of 6 runs done, 1 s; sweep rtt=10 ms seed 1 is at 0.5 of 60 s",
        "sweep: 0 of 6 runs done, 31 s; sweep rtt=10 ms seed 1 is at 15.5 of 60 s",
        "sweep: 1 of 6 runs done, 40 s; sweep rtt=10 ms seed 1: done",
        "sweep: 2 of 6 runs done, 80 s, about 160 s to go; sweep rtt=20 ms seed 1: missed",
    ], "the last one came right after another one"


def test_short_runs_print_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines("short", [1.0] * 3)
    for position in range(3):
        lines.started(position, "short", 1.0)
        lines.reached(position, 0.5)
        lines.finished(position, "done", cached=False)
    assert capsys.readouterr().err == ""


def test_a_stopped_command_prints_what_is_kept() -> None:
    tally = Tally(6, use_cache=True)
    assert tally.sentence() == "stopped; none of 6 runs had finished, so nothing is kept"
    for status in ("done", "missed", "failed"):
        tally.finished(status)
    assert (
        tally.sentence()
        == "stopped; 2 of 6 runs finished and are kept (`longhaul list runs`); the same command again runs only the rest"
    )
    assert "without --no-cache" in _sentence_after_one_run(Tally(2, use_cache=False))
    assert Tally(1, use_cache=True).sentence() == "stopped; the run had not finished, so nothing is kept"


def _sentence_after_one_run(tally: Tally) -> str:
    tally.finished("done")
    return tally.sentence()


def test_progress_shows_running_runs_and_the_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    console = Console(file=io.StringIO(), width=160, force_terminal=True)
    costs = [5.0] * 4 + [1.0] * 20
    with RunProgress("many", len(costs), console, costs) as bars:
        # A run that the store already has does not count for the estimate.
        bars.finished(23)
        for position in range(4):
            bars.started(position, f"run {position}", 1.0, "virtual")
            bars.finished(position)
        bars.started(4, "run 4", 1.0, "virtual")
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "5 of 24 runs, 9 s wall, about 9 s to go" in shown
    assert "run 4" in shown


def test_work_that_lasts_is_reported_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(in_words, "_FIRST_S", 0.01)
    monkeypatch.setattr(in_words, "_EVERY_S", 0.01)
    printed = ""
    for place in in_words.counted("reading every file", range(3), "runs"):
        while f": {place} of 3 runs" not in printed:
            time.sleep(0.01)
            printed += capsys.readouterr().err
    assert printed.startswith("reading every file, 0 s: 0 of 3 runs\n")


def test_short_work_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(in_words.counted("reading every file", range(3), "runs")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
