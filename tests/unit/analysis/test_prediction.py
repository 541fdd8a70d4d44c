"""Predictions: the question, the steady state, the interval, the rounds and the settings, on made series with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.prediction.completion import extrapolate, whole
from longhaul.orchestrator.analysis.prediction.horizons import settling_epochs
from longhaul.orchestrator.analysis.prediction.host_settings import settings_for
from longhaul.orchestrator.analysis.prediction.observation import Observation
from longhaul.orchestrator.analysis.prediction.question import ask, measured_fields, read_path
from longhaul.orchestrator.analysis.prediction.rounds import Candidate, predict_candidate
from longhaul.orchestrator.analysis.prediction.steady import find_steady
from longhaul.orchestrator.analysis.prediction.table import as_document, walk
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import LonghaulError, PlanError

_STEP_S, _RTT_S = 0.01, 0.04
_LINE = 5e6


def _observed(
    rate: Any, length_s: float, epochs_s: Any = (), *, line: float = 0.5 * _LINE, other: float = 0.0
) -> Observation:
    """A run whose transfer has this rate, bytes a second, at each time."""
    t_s = np.arange(0, length_s + _STEP_S / 2, _STEP_S)
    total = np.concatenate(([0.0], np.cumsum(np.broadcast_to(rate(t_s), t_s.shape)[:-1] * _STEP_S)))
    return Observation(
        t_s, total, other * t_s, line * t_s, (np.array(epochs_s),), 100, _LINE, _RTT_S, 1448, 0.1, "0" * 20
    )


def _noisy(seed: int, length_s: float, *, mean: float = 2e6, start_s: float = 2.0, epoch_s: float = 0.5) -> Observation:
    """A start-up with little data, then independent rates of each tenth of a second, with loss epochs at regular times."""
    dice = np.random.default_rng(seed)
    tenths = mean * (1 + 0.3 * dice.standard_normal(int(length_s * 10) + 2))

    def rate(t_s: Any) -> Any:
        return np.where(t_s < start_s, 0.1 * mean, tenths[(t_s * 10).astype(int)])

    return _observed(rate, length_s, np.arange(epoch_s, length_s, epoch_s), other=1e6)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "2 Gbit/s, 280 ms, loss 1e-5, buffer 20 ms",
            {"bandwidth": "2 Gbit/s", "rtt": "280 ms", "loss": "1e-5", "buffer": "20 ms"},
        ),
        ("rtt 10 ms, 1 Gbit/s, mtu 9000", {"bandwidth": "1 Gbit/s", "rtt": "10 ms", "mtu": 9000}),
    ],
)
def test_path_in_a_line(line: str, fields: dict[str, Any]) -> None:
    assert read_path(line) == fields


def test_measured_path_is_a_path() -> None:
    measured = {
        "rate_bps": 943_000_000,
        "least_rtt_us": 24_312,
        "queue_us": 8_012,
        "loss": 0.0,
        "jitter_us": 0,
        "burst": None,
    }
    assert measured_fields(measured) == {"bandwidth": "943 Mbit/s", "rtt": "24.3 ms", "buffer": "8 ms"}


@pytest.mark.parametrize(
    ("size", "path", "cc", "streams", "part"),
    [
        ("2", "1 Gbit/s, 10 ms", "cubic", "1", "needs its unit"),
        ("1 B", "1 Gbit/s, 10 ms", "cubic", "1", "less than"),
        ("2 TB", "1 Gbit/s", "cubic", "1", "no rtt"),
        ("2 TB", "10 ms", "cubic", "1", "no bandwidth"),
        ("2 TB", "1 Gbit/s, 10 ms, 20 ms", "cubic", "1", "two values of rtt"),
        ("2 TB", "1 Gbit/s, 10 ms, speed 3", "cubic", "1", "neither a rate"),
        ("2 TB", "1 Gbit/s, 10 ms", "cubbic", "1", "cubic"),
        ("2 TB", "1 Gbit/s, 10 ms", "cubic", "0", "1 to 64"),
        ("2 TB", "1 Gbit/s, 10 ms", "cubic", "many", "1 to 64"),
        ("2 TB", {"bandwidth": "1 Gbit/s", "rtt": "10 ms", "recording": {"file": "x"}}, "cubic", "1", "no such field"),
        ("2 TB", {"rate_bps": 1, "least_rtt_us": "x"}, "cubic", "1", "no number for"),
    ],
)
def test_questions_are_refused(size: str, path: Any, cc: str, streams: str, part: str) -> None:
    with pytest.raises(PlanError) as refused:
        ask(size, path, cc, streams)
    assert part in str(refused.value)


def test_terabytes() -> None:
    assert ask("2TB", "1 Gbit/s, 10 ms").size_bytes == 2 * 10**12


def test_steady_state_behind_a_start_up() -> None:
    runs = [_noisy(seed, 60.0) for seed in range(3)]
    steady = find_steady(runs, loss_based=True, random_losses=True)
    assert steady.why_not == ""
    assert 2.0 <= steady.begin_s < 10.0
    assert abs(steady.rate_byte_s - 2e6) < 0.03 * 2e6
    # Independent tenths of a second: sigma^2 = (0.3 mean)^2 x 0.1 s.
    assert 0.4 < steady.sigma2 / ((0.3 * 2e6) ** 2 * 0.1) < 2.5


def test_shorter_runs_of_earlier_rounds_are_evidence_too() -> None:
    short, long = ([_noisy(seed + place, length_s) for seed in range(2)] for place, length_s in ((0, 30.0), (2, 60.0)))
    both = find_steady([*short, *long], loss_based=True, random_losses=True)
    alone = find_steady(long, loss_based=True, random_losses=True)
    assert both.why_not == ""
    assert both.begin_s == alone.begin_s
    assert both.length_s == pytest.approx(alone.length_s + 2 * (30 - both.begin_s), abs=0.1)
    assert both.runs == 4
    assert abs(both.rate_byte_s - 2e6) < 0.03 * 2e6
    assert 0.4 < both.sigma2 / ((0.3 * 2e6) ** 2 * 0.1) < 2.5


def test_runs_that_end_with_the_start_up_are_left_out() -> None:
    runs = [_noisy(1, 6.0), *(_noisy(seed, 60.0, start_s=5.0) for seed in (2, 3))]
    assert find_steady(runs, loss_based=True, random_losses=True).runs == 2


def test_batches_of_a_cycle_have_whole_cycles() -> None:
    """A rate that is zero for a fiftieth of each cycle varies within cycles and not between them."""
    runs = [_observed(lambda t_s: np.where(t_s % 10.0 < 0.2, 0.0, 2e6), 33.0) for _ in range(2)]
    steady = find_steady(runs, loss_based=False, random_losses=True, period_s=10.0)
    assert steady.why_not == ""
    assert steady.rate_byte_s == pytest.approx(2e6 * 0.98, rel=1e-3)
    assert steady.sigma2 < (2e6 * 0.002) ** 2 * 10


@pytest.mark.parametrize(("control", "losses"), [("reno", 4), ("cubic", 7), ("htcp", 11), ("scalable", 18)])
def test_losses_until_the_start_is_forgotten(control: str, losses: int) -> None:
    assert settling_epochs(control) == losses


def test_a_rate_that_rises_is_not_steady() -> None:
    runs = [_observed(lambda t_s: 1e6 * (1 + t_s / 60), 60.0, np.arange(0.5, 60, 0.5)) for _ in range(3)]
    assert find_steady(runs, loss_based=True, random_losses=True).why_not


def test_few_losses_are_not_steady() -> None:
    runs = [_observed(lambda t_s: np.full_like(t_s, 1e6), 60.0, [10.0, 30.0]) for _ in range(3)]
    assert (
        "few" in find_steady(runs, loss_based=True, random_losses=True).why_not
        or "start" in find_steady(runs, loss_based=True, random_losses=True).why_not
    )


@pytest.mark.parametrize(("random_losses", "steady"), [(False, True), (True, False)])
def test_a_filled_line_is_a_bound(random_losses: bool, steady: bool) -> None:
    runs = [_observed(lambda t_s: np.full_like(t_s, _LINE), 20.0, [1.0, 9.0, 17.0], line=_LINE) for _ in range(3)]
    found = find_steady(runs, loss_based=True, random_losses=random_losses)
    assert found.filled
    assert (found.why_not == "") == steady


def test_intervals_hold_95_of_100() -> None:
    """The interval of a made process holds the time of one more realisation about as often as it says."""
    size, held = 2e6 * 400, 0
    for draw in range(100):
        runs = [_noisy(1000 * draw + seed, 40.0) for seed in range(3)]
        found = extrapolate(find_steady(runs, loss_based=True, random_losses=True), round(size), _RTT_S, _LINE)
        time_s = _noisy(1000 * draw + 99, 440.0).completion_s(round(size))
        assert time_s is not None
        held += found.low_s <= time_s <= found.high_s
    assert held >= 88


def test_whole_transfers_give_an_interval() -> None:
    found = whole([100.0, 102.0, 98.0, 101.0], _RTT_S)
    assert found.low_s < 98 < found.seconds < 102 < found.high_s
    assert whole([100.0, 900.0], _RTT_S, 80.0).low_s == 80


def test_rounds_answer_a_question() -> None:
    """A path whose runs are made: the rounds ask until the interval is close, and nothing but whole experiments is asked for."""
    asked: list[Experiment] = []

    def answers(experiments: Sequence[Experiment]) -> list[Any]:
        asked.extend(experiments)
        return [
            [_noisy(seed, float(one.duration.removesuffix(" s"))) for seed in range(one.repeats)] for one in experiments
        ]

    question = ask("20 GB", "40 Mbit/s, 40 ms, loss 1e-3", "cubic", "1")
    walked = walk(question, answers)
    (row,) = as_document(walked)["rows"]
    assert row["how"] == "steady"
    assert abs(row["seconds"] / 10_000 - 1) < 0.05
    assert row["low_s"] < row["seconds"] < row["high_s"]
    # Beside the candidate, which is a flow of CUBIC, the other flow has what it has beside a flow of CUBIC.
    assert row["harm"]["share"] == pytest.approx(0)
    assert all(one.experiment == "predict" for one in asked)


def test_each_round_has_seeds_of_its_own() -> None:
    asked: list[Experiment] = []

    def answers(experiments: Sequence[Experiment]) -> list[Any]:
        asked.extend(experiments)
        return [
            [_noisy(one.seed + more, float(one.duration.removesuffix(" s")), mean=1e6) for more in range(one.repeats)]
            for one in experiments
        ]

    walked = walk(ask("20 GB", "40 Mbit/s, 40 ms, loss 1e-3", "cubic", "1"), answers, wanted=0.01)
    (outcome,) = walked.outcomes.values()
    rounds = [one for one in asked if len(one.flows) == 1]
    seeds = [one.seed + more for one in rounds for more in range(one.repeats)]
    assert len(rounds) > 1
    assert len(set(seeds)) == len(seeds) == len(outcome.runs)


def test_clearly_slower_candidates_need_no_close_interval() -> None:
    """Beside a candidate that fills the line, one with a tenth of it needs no more runs than its first; alone it does."""

    def answers(experiments: Sequence[Experiment]) -> list[Any]:
        return [[made(one, seed) for seed in range(one.repeats)] for one in experiments]

    def made(experiment: Experiment, seed: int) -> Observation:
        length_s = float(experiment.duration.removesuffix(" s"))
        mean = 4.5e6 if experiment.flows[0].cc == "bbr" else 4e5
        return _noisy(experiment.seed + seed, length_s, mean=mean, start_s=0.5, epoch_s=0.1)

    def rows(controls: str) -> list[dict[str, Any]]:
        question = ask("20 GB", "40 Mbit/s, 40 ms, loss 1e-3", controls, "1")
        found: list[dict[str, Any]] = as_document(walk(question, answers, wanted=0.005))["rows"]
        return found

    fast, slow = rows("reno,bbr")
    (alone,) = rows("reno")
    assert (fast["cc"], slow["cc"]) == ("bbr", "reno")
    assert slow["low_s"] > fast["high_s"]
    assert len(slow["runs"]) == 2 < len(alone["runs"])


def test_a_filled_line_may_be_a_little_faster_but_not_faster_than_the_line() -> None:
    runs = [_observed(lambda t_s: np.full_like(t_s, 0.99 * _LINE), 60.0, np.arange(1, 60)) for _ in range(2)]
    steady = find_steady(runs, loss_based=True, random_losses=True)
    found = extrapolate(steady, 10**10, _RTT_S, _LINE)
    assert found.low_s == pytest.approx(10**10 / _LINE)


def test_what_is_not_run_waits() -> None:
    walked = walk(ask("20 GB", "40 Mbit/s, 40 ms", "cubic,reno", "1,2"), lambda experiments: [None] * len(experiments))
    assert len(walked.waiting) == 4
    assert as_document(walked)["rows"] == []


def test_a_failed_candidate_is_a_fault() -> None:
    fault = LonghaulError("running", "a run", "it failed")
    document = as_document(
        walk(ask("20 GB", "40 Mbit/s, 40 ms", "cubic", "1"), lambda experiments: [fault] * len(experiments))
    )
    assert document["rows"] == []
    assert document["faults"][0]["error"]["what"] == "it failed"


def test_refused_paths_name_the_field() -> None:
    with pytest.raises(LonghaulError, match="loss"):
        next(predict_candidate(ask("20 GB", "40 Mbit/s, 40 ms, loss 2", "cubic", "1"), Candidate("cubic", 1)))


def test_settings_hold_two_windows() -> None:
    found = settings_for("bbr", 4, 50_000, 1500, 2 * 10**12)
    assert found.buffer_bytes >= 2 * 50_000 * 1448
    assert found.sysctls["net.ipv4.tcp_rmem"].endswith(found.sysctls["net.core.rmem_max"])
    assert found.commands[0] == "modprobe tcp_bbr"
    assert any("4 connections" in line for line in found.commands)
    assert settings_for("cubic", 1, 10, 1500, 10**9).sysctls["net.ipv4.tcp_rmem"] == "4096 131072 6291456"
    assert "hosts deploy" in settings_for("agilesd", 1, 10, 1500, 10**9).commands[0]
