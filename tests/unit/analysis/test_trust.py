"""Differences between backends: exact for known numbers, and with an interval of the stated coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.trust import differences


def documents(goodputs: list[float], drops: int = 3) -> list[Any]:
    return [
        {
            "flows": [{"name": "a", "goodput_bps": goodput, "rtt_ms": None, "cwnd_packets": None, "retransmits": 0}],
            "seed": seed,
            "path": {"utilisation": 1.0, "queue_packets": {"mean": 5.0}, "drops": drops},
        }
        for seed, goodput in enumerate(goodputs)
    ]


def test_equal_runs_have_no_difference() -> None:
    found = {one.measure: one for one in differences(documents([5, 6, 7]), documents([5, 6, 7]))}
    assert set(found) == {"goodput", "retransmits", "utilisation", "queue_mean", "drops"}
    assert found["goodput"].difference == 0
    assert all(one.agrees for one in found.values())


def test_a_shift_beyond_chance_is_seen_with_its_size() -> None:
    draw = np.random.default_rng(7)
    ours = list(draw.normal(100, 20, 40))
    theirs = [value + draw.normal(10, 1) for value in ours]
    (one,) = [one for one in differences(documents(ours), documents(theirs)) if one.measure == "goodput"]
    assert not one.agrees
    assert one.difference == pytest.approx(10, abs=1)
    assert one.low < one.difference < one.high
    # Two standard errors of a mean of 40 differences, to both sides: the variation that both backends share does not count.
    assert one.high - one.low == pytest.approx(4 / np.sqrt(40), rel=0.3)


def test_a_measure_of_only_one_backend_is_left_out() -> None:
    silent = documents([5, 6])
    for document in silent:
        document["path"]["drops"] = None
    assert "drops" not in {one.measure for one in differences(documents([5, 6]), silent)}


def test_of_five_seeds_a_star_is_as_rare_as_stated() -> None:
    """Backends that differ only by chance: about one measure in twenty appears to differ, not one in six."""
    draw = np.random.default_rng(8)
    stars = 0
    for _ in range(400):
        ours, theirs = ([float(value) for value in draw.normal(100, 20, 5)] for _ in range(2))
        stars += not next(iter(differences(documents(ours), documents(theirs)))).agrees
    assert stars <= 400 * 0.08


def test_one_pair_has_no_interval() -> None:
    one = next(iter(differences(documents([100]), documents([110]))))
    assert (one.difference, one.agrees) == (10, True)
