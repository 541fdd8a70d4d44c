"""Comparisons of runs with planted, known differences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from longhaul.orchestrator.analysis.compare import Comparison, Row, compare, measure_of_runs
from longhaul.orchestrator.analysis.intervals import count_to_resolve, mean_interval, student_quantile
from longhaul.orchestrator.analysis.pairing import differing, pair_runs, split_by
from longhaul.orchestrator.analysis.report.comparison_text import as_json, gate_line, markdown, notes, verdict_line
from longhaul.orchestrator.analysis.report.junit import comparison_xml
from longhaul.orchestrator.spec.measures import MEASURES, NEITHER
from longhaul.orchestrator.system.errors import PlanError
from tests.support.command import longhaul
from tests.support.folders import DATA

# Documents with few fields.
Document = Any
GOODPUT = measure_of_runs("goodput", "app")


def run(seed: int, goodput_bps: float, *, delay_ms: float | None = 10.0, trace: str = "", **point: str) -> Document:
    """The least document of a run."""
    return {
        "run": f"r{seed}{goodput_bps}",
        "status": "done",
        "clock": "virtual",
        "kernel": "6.12",
        "seed": seed,
        "point": point,
        "trace_sha256": trace or f"{seed} {goodput_bps} {delay_ms}",
        "flows": [{"name": "app", "goodput_bps": goodput_bps, "cwnd_packets": {"mean": goodput_bps / 1e5, "max": 9}}],
        "path": {"queue_delay_ms": delay_ms},
        "jain": None,
    }


def failed(seed: int) -> Document:
    return {"run": "f", "status": "failed", "seed": seed, "point": {}, "error": {}}


def noisy(scale: float, *, seeds: int = 8, noise: float = 0.004, draw: int = 3) -> list[Document]:
    """Runs of some seeds at 100 Mbit/s: seeds differ by 10 %, and a scaled run differs by some noise from its partner."""
    rng = np.random.default_rng(draw)
    level = 1e8 * (1 + 0.1 * np.random.default_rng(1).standard_normal(seeds))
    own = 1 + noise * rng.standard_normal(seeds) if scale != 1 else np.ones(seeds)
    return [run(seed, float(value)) for seed, value in enumerate(level * own * scale)]


def gated(a: list[Document], b: list[Document], least: float = 0.02) -> tuple[Row, Comparison]:
    comparison = compare("a", "b", pair_runs(a, b), [GOODPUT], least)
    return next(row for row in comparison.rows if row.gates), comparison


def test_students_quantiles_are_those_of_the_tables() -> None:
    known = {(0.05, 1): 12.706, (0.05, 2): 4.303, (0.05, 7): 2.365, (0.01, 5): 4.032, (0.05, 30): 2.042}
    assert {key: round(student_quantile(*key), 3) for key in known} == known


@pytest.mark.parametrize("count", [3, 5, 8, 20])
def test_the_interval_contains_the_truth_as_often_as_stated(count: int) -> None:
    rng = np.random.default_rng(11)
    intervals = [mean_interval(rng.normal(1.0, 1.0, count)) for _ in range(1000)]
    covered = sum(low <= 1.0 <= high for _, low, high in intervals)
    assert 920 <= covered <= 975


def test_many_comparisons_share_one_error_rate() -> None:
    """Of 20 measures without a difference, at least one alarm in at most 5 % of gates; with 95 % each it would be 64 %."""
    rng = np.random.default_rng(12)
    alarms = 0
    for _ in range(400):
        intervals = [mean_interval(rng.normal(0.0, 1.0, 8), comparisons=20) for _ in range(20)]
        alarms += any(low > 0 or high < 0 for _, low, high in intervals)
    assert alarms <= 400 * 0.08


def test_more_seeds_are_requested_for_a_narrower_interval() -> None:
    assert count_to_resolve(10, 1.0, 0.9) <= 14
    # A tenth of the width takes 100 times as many, corrected for Student's t: (1.96 / 2.26)^2 * 9 / 10.
    assert 670 <= count_to_resolve(10, 1.0, 0.1) <= 690


def test_a_planted_regression_of_5_percent_is_found_and_half_a_percent_is_not() -> None:
    row, comparison = gated(noisy(1.0), noisy(0.95))
    assert (row.verdict, row.n, comparison.fails) == ("worse", 8, True)
    assert row.effect is not None
    assert row.effect_low is not None
    assert row.effect_high is not None
    assert row.effect == pytest.approx(-0.05, abs=0.005)
    assert row.effect_low < row.effect < row.effect_high < 0
    row, comparison = gated(noisy(1.0), noisy(0.995))
    assert (row.verdict, comparison.fails) == ("no difference", False)
    assert gated(noisy(1.0), noisy(1.05))[0].verdict == "better"


def test_pairing_finds_a_difference_below_the_spread_of_the_seeds() -> None:
    a, b = noisy(1.0), noisy(0.95)
    spread = np.std([one["flows"][0]["goodput_bps"] for one in a]) / 1e8
    assert spread > 0.05
    assert gated(a, b)[0].verdict == "worse"


def test_noise_is_unclear_and_states_the_needed_seeds() -> None:
    row, comparison = gated(noisy(1.0), noisy(0.97, noise=0.1))
    assert row.verdict == "unclear"
    assert row.seeds is not None
    assert row.seeds > 8
    assert not comparison.fails
    assert "but 1 unclear" in gate_line(comparison)


def test_less_is_better_of_a_delay_and_neither_of_a_window() -> None:
    a = [run(seed, 1e8, delay_ms=10.0) for seed in range(3)]
    b = [run(seed, 2e8, delay_ms=20.0) for seed in range(3)]
    rows = {row.measure: row.verdict for row in compare("a", "b", pair_runs(a, b), [], 0.02).rows}
    assert rows == {"goodput": "better", "queue_delay": "worse", "cwnd_mean": "changed", "cwnd_max": "same"}
    assert MEASURES["cwnd_mean"].better == NEITHER


def test_one_pair_counts_as_it_is_only_in_virtual_time() -> None:
    row, comparison = gated([run(1, 1e8)], [run(1, 0.95e8)])
    assert (row.verdict, row.low) == ("worse", None)
    assert any("no interval" in note for note in notes(comparison))
    assert gated([run(1, 1e8)], [run(1, 0.999e8)])[0].verdict == "no difference"
    real = run(1, 0.95e8) | {"clock": "real"}
    assert gated([run(1, 1e8) | {"clock": "real"}], [real])[0].verdict == "unclear"


@pytest.mark.parametrize("goodput_bps", [2e8, 0.5e8, 1.001e8])
def test_one_pair_without_a_gate_gets_no_verdict(goodput_bps: float) -> None:
    pairing = pair_runs([run(1, 1e8)], [run(1, goodput_bps, delay_ms=5.0)])
    comparison = compare("a", "b", pairing, [], 0.02)
    assert {row.verdict for row in comparison.rows} == {"no verdict", "same"}
    assert "better" not in verdict_line(comparison)
    # A gate fails for a worse value, and reports no better one.
    assert gated([run(1, 1e8)], [run(1, 2e8)])[0].verdict == "no verdict"


def test_differences_between_plans_are_named() -> None:
    def planned(key: str) -> dict[str, Any]:
        text = (DATA / "runs/lossy_pair/run.json").read_text()
        plan: dict[str, Any] = json.loads(text)
        if key != "a":
            plan["meaning"] |= {"rtt_us": 60_000}
            plan["flows"][0]["variant"] = "bbr"
            plan["seed"] += 1
        return plan

    pairing = pair_runs([run(1, 1e8) | {"run": "a"}], [run(1, 1e8) | {"run": "b"}])
    found = {one.field: (one.a, one.b) for one in differing(pairing, planned)}
    assert set(found) == {"rtt", "flows"}
    assert found["rtt"][1] == "60 ms"
    assert differing(pair_runs([run(1, 1e8) | {"run": "a"}], [run(1, 1e8) | {"run": "a"}]), planned) == ()
    document = as_json(replace(compare("a", "b", pairing, [], 0.02), differs=differing(pairing, planned)))
    assert {one["field"] for one in document["differs"]} == {"rtt", "flows"}


def test_a_change_from_nothing_is_a_change() -> None:
    a = [run(seed, 1e8, delay_ms=0.0) for seed in range(4)]
    b = [run(seed, 1e8, delay_ms=1.0 + seed / 10) for seed in range(4)]
    comparison = compare("a", "b", pair_runs(a, b), [], 0.02)
    (row,) = [row for row in comparison.rows if row.measure == "queue_delay"]
    assert row.verdict == "worse"
    document = json.loads(json.dumps(as_json(comparison), allow_nan=False))
    assert [one["effect"] for one in document["measures"] if one["measure"] == "queue_delay"] == [None]


def test_a_missing_gated_number_fails_the_gate() -> None:
    row, comparison = gated([run(1, 1e8), run(2, 1e8)], [run(1, 1e8), failed(2)])
    assert (row.verdict, row.n, row.lacking, comparison.fails) == ("missing", 1, 1, True)
    assert any("failed run" in note for note in notes(comparison))


def test_equal_runs_are_identical() -> None:
    runs = [run(seed, 1e8) for seed in (1, 2)]
    comparison = compare("a", "b", pair_runs(runs, runs), [GOODPUT], 0.02)
    assert comparison.identical
    assert {row.verdict for row in comparison.rows} == {"same"}
    assert verdict_line(comparison) == "identical: the traces of 2 pairs are identical"


def test_runs_pair_by_point_and_seed_and_the_rest_is_named() -> None:
    a = [run(seed, 1e8, rtt=rtt) for rtt in ("1 ms", "2 ms") for seed in (1, 2)]
    b = [run(seed, 1e8, rtt="2 ms") for seed in (2, 3)]
    pairing = pair_runs(a, b)
    assert [(one["point"], other["seed"]) for one, other in pairing.pairs] == [({"rtt": "2 ms"}, 2)]
    assert (len(pairing.only_a), len(pairing.only_b)) == (3, 1)
    noted = " ".join(notes(compare("a", "b", pairing, [], 0.02)))
    assert "3 runs of A without a partner: rtt=1 ms, seed 1" in noted
    with pytest.raises(PlanError, match="same point and seed"):
        pair_runs(a, [run(9, 1e8), run(8, 1e8)])


def test_flows_that_one_side_has_are_named_and_the_others_compared() -> None:
    one, other = run(1, 1e8), run(1, 1e8, trace="t")
    other["flows"].append({**other["flows"][0], "name": "guest"})
    comparison = compare("a", "b", pair_runs([one], [other]), [], 0.02)
    assert "flows that only B has: guest" in [*notes(comparison)]
    assert {row.flow for row in comparison.rows} == {"app", None}


def test_one_sweep_is_compared_with_itself_by_a_field() -> None:
    documents = [
        run(seed, goodput, cc=cc, rtt=rtt)
        for cc, goodput in (("cubic", 1e8), ("bbr", 0.9e8), ("reno", 5e7))
        for rtt in ("1 ms", "2 ms")
        for seed in (1, 2)
    ]
    sides = split_by(documents, "cc", ["bbr", "cubic"])
    assert list(sides) == ["bbr", "cubic"]
    comparison = compare("bbr", "cubic", pair_runs(*sides.values()), [GOODPUT], 0.02)
    rows = [row for row in comparison.rows if row.gates]
    assert [(row.point, row.n, row.verdict) for row in rows] == [
        ({"rtt": "1 ms"}, 2, "better"),
        ({"rtt": "2 ms"}, 2, "better"),
    ]
    for field, values, text in (("cc", [], "two of its values"), ("cc", ["x", "bbr"], "known"), ("mtu", [], "no such")):
        with pytest.raises(PlanError, match=text):
            split_by(documents, field, values)


def test_files_for_machines_contain_failures() -> None:
    _, comparison = gated(noisy(1.0), noisy(0.9))
    suite = ElementTree.fromstring(comparison_xml(comparison))
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    text = markdown(comparison)
    assert "❌ gate: 1 of 1 fail: goodput(app): worse" in text
    assert "| goodput(app) | 8 |" in text


def written(folder: Path, name: str, runs: list[Document], **more: Any) -> str:
    file = folder / name
    file.write_text(json.dumps({"experiment": "made", "runs": runs, "summary": [], **more}))
    return str(file)


def test_the_exit_code_is_the_gates(tmp_path: Path) -> None:
    a, b = written(tmp_path, "a.json", noisy(1.0)), written(tmp_path, "b.json", noisy(0.95))
    assert longhaul("compare", a, b, home=tmp_path).returncode == 0
    for arguments, code in (
        (["--for", "goodput(app)"], 1),
        (["--for", "goodput(app)", "--min-effect", "10%"], 0),
        (["--for", "queue_delay"], 0),
        (["--for", "-goodput(app)/1e6"], 0),
        (["--for", "1*cwnd_mean(app)"], 1),
    ):
        result = longhaul("compare", a, b, *arguments, home=tmp_path)
        assert (result.returncode, result.stderr) == (code, ""), arguments
    document = json.loads(longhaul("compare", a, b, "--for", "goodput(app)", "--json", home=tmp_path).stdout)
    assert (document["ok"], document["gated"], document["identical"], len(document["pairs"])) == (False, 1, False, 8)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--for", "goodput(other)"], "known: app"),
        (["--for", "cwnd_mean(app)"], "has no better direction"),
        (["--for", "jain"], "has no value in any pair"),
        (["--min-effect", "much"], "reading --min-effect much"),
        (["--junit", "x.xml"], "there is no gate"),
        (["--by", "rtt"], "give either B, or --by"),
    ],
)
def test_an_impossible_gate_is_refused(tmp_path: Path, arguments: list[str], text: str) -> None:
    a = written(tmp_path, "a.json", noisy(1.0))
    result = longhaul("compare", a, a, *arguments, home=tmp_path)
    assert result.returncode == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_not_a_result_is_named(tmp_path: Path) -> None:
    for name, text in (("a.json", "[]"), ("b.json", "{"), ("c.json", '{"runs": []}'), ("d.json", '{"runs": [{}]}')):
        (tmp_path / name).write_text(text)
        result = longhaul("compare", str(tmp_path / name), str(tmp_path / name), home=tmp_path)
        assert result.returncode == 4
        assert f"{name}: it is not a result" in result.stderr
