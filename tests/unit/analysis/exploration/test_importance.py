"""Importance of fields: functions whose shares of variance are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from longhaul.orchestrator.analysis.exploration.importance import Importance, importance

A, B = ("1", "2", "3"), ("10 ms", "20 ms", "40 ms", "80 ms")
GRID = [{"a": a, "b": b} for a, b in product(A, B)]


def _shares(found: Importance) -> dict[str, float]:
    return {" ".join(one.fields): one.share for one in found.fields}


def test_of_an_additive_function_each_field_has_the_share_of_its_own_variance() -> None:
    of_a, of_b = {"1": 0.0, "2": 3.0, "3": 9.0}, {"10 ms": 1.0, "20 ms": 2.0, "40 ms": 2.0, "80 ms": 7.0}
    found = importance(GRID, [5 + of_a[one["a"]] + of_b[one["b"]] for one in GRID])
    variance_a, variance_b = np.var(list(of_a.values())), np.var(list(of_b.values()))
    whole = variance_a + variance_b
    assert _shares(found) == pytest.approx({"a": variance_a / whole, "b": variance_b / whole})
    assert found.fields[0].fields == ("a",)
    assert found.interactions == pytest.approx(0, abs=1e-12)
    assert [level.mean for level in found.fields[0].levels] == pytest.approx([5 + 3 + of_a[one] for one in A])
    assert (found.runs, found.points, found.missing, found.noise) == (12, 12, 0, None)
    assert "no point has repeats" in found.notes[0]


def test_pure_noise_is_noise_and_no_field_has_a_share() -> None:
    draws = np.random.default_rng(5).normal(100, 7, (50, len(GRID) * 6))
    found = [importance(GRID * 6, row.tolist()) for row in draws]
    for name in ("a", "b"):
        # Not subtracting what noise adds by chance would give 0.02 and 0.03 on average.
        assert np.mean([_shares(one)[name] for one in found]) < 0.015
    assert np.mean([one.interactions for one in found]) < 0.03
    assert np.mean([one.noise or 0 for one in found]) > 0.95


def test_noise_beside_an_effect_has_the_share_of_its_variance() -> None:
    draw = np.random.default_rng(2)
    effect = {"1": -1.0, "2": 0.0, "3": 1.0}
    found = importance(GRID * 400, [effect[one["a"]] + draw.normal(0, 1) for one in GRID * 400])
    # Variances 2/3 and 1.
    assert _shares(found)["a"] == pytest.approx(0.4, abs=0.03)
    assert found.noise == pytest.approx(0.6, abs=0.03)


def test_what_fields_do_only_together_is_interactions() -> None:
    points = [{"a": a, "b": b} for a, b in product("xy", "xy")]
    found = importance(points * 2, [1.0 if one["a"] == one["b"] else -1.0 for one in points * 2])
    assert _shares(found) == pytest.approx({"a": 0, "b": 0})
    assert (found.interactions, found.noise) == pytest.approx((1, 0))


def test_an_incomplete_grid_is_fitted_and_says_so() -> None:
    of_a, of_b = {"1": 0.0, "2": 3.0, "3": 9.0}, {"10 ms": 1.0, "20 ms": 2.0, "40 ms": 2.0, "80 ms": 7.0}
    there = GRID[1:]
    found = importance(GRID, [None, *(of_a[one["a"]] + of_b[one["b"]] for one in there)])
    whole = np.var(list(of_a.values())) + np.var(list(of_b.values()))
    assert _shares(found)["a"] == pytest.approx(np.var(list(of_a.values())) / whole)
    assert found.interactions == pytest.approx(0, abs=1e-12)
    assert (found.points, found.missing) == (11, 1)
    assert "1 of the 12 points" in found.notes[0]


def test_fields_that_change_together_are_one() -> None:
    points = [{"a": a, "b": a * 2, "c": c} for a, c in product("123", "xy")]
    found = importance(points, [float(one["a"]) for one in points])
    assert _shares(found) == pytest.approx({"a b": 1, "c": 0})
    assert found.missing == 0
    assert "a and b always change together" in found.notes[0]


def test_of_equal_values_and_of_none_there_are_no_shares() -> None:
    even = importance(GRID, [7.0] * 12)
    assert set(_shares(even).values()) == {0.0}
    assert "the measure is the same in all runs" in even.notes
    assert importance(GRID, [None] * 12).fields == ()
    assert importance([{}, {}], [1.0, 2.0]).noise == pytest.approx(1)


def test_values_are_in_the_order_of_their_quantities_and_words_as_they_came() -> None:
    points = [{"rtt": rtt, "cc": cc} for rtt, cc in product(("1 s", "20 ms", "300 ms"), ("reno", "cubic"))]
    found = {one.fields[0]: [level.value for level in one.levels] for one in importance(points, range(6)).fields}
    assert found == {"rtt": ["20 ms", "300 ms", "1 s"], "cc": ["reno", "cubic"]}
    buffers = importance([{"buffer": text} for text in ("10 BDP", "2 BDP", "0.5 BDP")], range(3)).fields[0]
    assert [level.value for level in buffers.levels] == ["0.5 BDP", "2 BDP", "10 BDP"]
