"""The Markdown summary of an experiment: verdict, expectations over points and seeds, measures, failures, and no character that Markdown would interpret."""

from __future__ import annotations

from typing import Any

from longhaul.orchestrator.analysis.report.summary_text import markdown, verdict_text


def run(seed: int, point: dict[str, str], value: float | None, **changes: Any) -> dict[str, Any]:
    ok = value is not None and value >= 90e6
    shown = "has no value in this run" if value is None else f"{value:.6g}"
    expected = {"ok": ok, "text": f"goodput(app) at least 90 Mbit/s: {shown}", "value": value}
    status = "done" if ok else "missed"
    return {
        "run": f"{seed:020x}",
        "seed": seed,
        "point": point,
        "status": status,
        "cached": False,
        "expect": [expected],
    } | changes


def row(
    point: dict[str, str], flow: str | None, measure: str, value: float, spread: float = 0.0, n: int = 2
) -> dict[str, Any]:
    return {
        "point": point,
        "flow": flow,
        "measure": measure,
        "value": value,
        "low": value - spread,
        "high": value + spread,
        "n": n,
    }


NEAR, FAR = {"path.rtt": "2 ms"}, {"path.rtt": "512 ms"}


def result(**changes: Any) -> dict[str, Any]:
    return {
        "experiment": "sweep",
        "runs": [run(1, NEAR, 95e6), run(2, NEAR, 93e6, cached=True), run(1, FAR, 80e6), run(2, FAR, 92e6)],
        "summary": [
            row(NEAR, "app", "goodput_bps", 94e6, 1e6),
            row(NEAR, None, "utilisation", 0.97),
            row(FAR, "app", "goodput_bps", 86e6, 6e6),
            row(FAR, "other_flow", "goodput_bps", 1e6),
        ],
    } | changes


def test_missed_expectations_come_first_with_count_and_range() -> None:
    lines = markdown(result()).splitlines()
    assert lines[0] == "### sweep"
    assert lines[2] == "❌ 4 runs: 1 missed an expectation; 1 answered from the store."
    assert lines[4:8] == [
        "| point | expectation | met | measured |",
        "|---|---|---|---|",
        "| rtt=512 ms | goodput(app) at least 90 Mbit/s | ❌ 1 of 2 | 80 Mbit/s to 92 Mbit/s |",
        "| rtt=2 ms | goodput(app) at least 90 Mbit/s | ✅ 2 of 2 | 93 Mbit/s to 95 Mbit/s |",
    ]


def test_measures_have_a_row_a_point_and_flow_and_no_empty_columns() -> None:
    lines = markdown(result()).splitlines()
    assert lines[9:] == [
        "| point | flow | n | goodput | utilisation |",
        "|---|---|---|---|---|",
        "| rtt=2 ms | app | 2 | 94 Mbit/s (93 Mbit/s to 95 Mbit/s) | 97 % |",
        "| rtt=512 ms | app | 2 | 86 Mbit/s (80 Mbit/s to 92 Mbit/s) |  |",
        "| rtt=512 ms | other\\_flow | 2 | 1 Mbit/s |  |",
        "",
    ]


def test_a_failure_has_its_reason_and_an_experiment_its_server() -> None:
    error = {"error": "GuestDied", "attempting": "running guest", "subject": "x", "what": "it |died|", "hint": "look"}
    failed = run(3, FAR, None, status="failed", error=error, expect=[])
    text = markdown(result(runs=[failed], summary=[], id="0123", server="http://lab", status="failed"))
    assert "❌ 1 run: 1 failed." in text
    assert f"- run `{3:020x}` failed, path.rtt=512 ms, seed 3: running guest x: it \\|died\\|; look" in text
    assert "Experiment `0123` on http://lab." in text


def test_a_measure_without_a_value_and_a_cancelled_experiment_are_not_a_success() -> None:
    assert "❌ 0 of 1 | no value" in markdown(result(runs=[run(1, {}, None)], summary=[]))
    cancelled = result(runs=[run(1, {}, 95e6)], status="cancelled")
    assert markdown(cancelled).splitlines()[2].startswith("❌ 1 run (it is cancelled)")
    assert "❌ 0 runs" in markdown(result(runs=[], summary=[], status="cancelled"))
    nothing = result(runs=[run(1, {}, None, status="done", expect=[])])
    assert verdict_text(nothing) == "1 run: no expectations"


def test_a_large_sweep_is_cut() -> None:
    runs = [run(1, {"path.rtt": f"{rtt} ms"}, 95e6) for rtt in range(1, 60)]
    assert "And 19 more rows." in markdown(result(runs=runs))
