"""The overview of a long run: its chart without reading the trace, and never another chart than that of the trace."""

from __future__ import annotations

import os

import numpy as np
import pytest

from longhaul.orchestrator.analysis import kept_series
from longhaul.orchestrator.analysis.kept_series import PAGE_SERIES, kept_timelines, make_overview
from longhaul.orchestrator.analysis.timelines import Timeline
from longhaul.orchestrator.results.derived_files import OVERVIEW
from longhaul.orchestrator.results.pruning import prune
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import RunDamaged
from tests.support.documents import flip, keep

POINTS = 2000


@pytest.fixture
def store(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    # The recorded runs of the tests are shorter than those that have an overview.
    monkeypatch.setattr(kept_series, "_LONG_BYTES", 0)
    return store


def whole(store: Store, key: str, points: int = POINTS) -> list[tuple[str, Timeline]]:
    return kept_timelines(store, key, PAGE_SERIES, points=points)


def from_the_trace(store: Store, key: str) -> list[tuple[str, Timeline]]:
    """A part has no overview; this one is as long as the run."""
    return kept_timelines(store, key, PAGE_SERIES, end_s=store.planned(key).duration_us / 1e6, points=POINTS)


def assert_same(found: list[tuple[str, Timeline]], other: list[tuple[str, Timeline]]) -> None:
    assert len(found) == len(other) > 0
    for (kind, one), (kind_too, two) in zip(found, other, strict=True):
        assert (kind, one.measure, one.about, one.unit, one.of_values) == (
            kind_too, two.measure, two.about, two.unit, two.of_values,
        )  # fmt: skip
        assert np.array_equal(one.t_s, two.t_s)
        assert np.array_equal(one.values, two.values)


def test_a_chart_is_the_same_from_the_overview_and_from_the_trace(store: Store) -> None:
    key = keep(store)
    make_overview(store, key)
    file = store.derived(key) / OVERVIEW
    assert file.is_file()
    read = file.stat().st_mtime_ns
    assert_same(whole(store, key), from_the_trace(store, key))
    assert file.stat().st_mtime_ns == read


def test_fewer_points_keep_the_extremes(store: Store) -> None:
    key = keep(store)
    every = {(one.measure, one.about): one for _, one in whole(store, key)}
    for _, one in whole(store, key, points=40):
        full = every[one.measure, one.about]
        assert len(one.t_s) <= 40
        assert (np.nanmin(one.values), np.nanmax(one.values)) == (np.nanmin(full.values), np.nanmax(full.values))
        assert (one.t_s[0], one.t_s[-1], one.of_values) == (full.t_s[0], full.t_s[-1], full.of_values)


def test_a_changed_or_older_overview_is_made_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    key = keep(store)
    right = whole(store, key)
    file = store.derived(key) / OVERVIEW
    good = file.read_bytes()
    flip(file, 8 * (len(good) - 1000))
    assert_same(whole(store, key), right)
    assert file.read_bytes() == good
    # Other code, other points.
    monkeypatch.setattr(kept_series, "_code", lambda: "newer")
    whole(store, key)
    assert file.read_bytes() != good


def test_an_overview_does_not_hide_damage(store: Store) -> None:
    key = keep(store)
    whole(store, key)
    trace = store.directory(key) / "acks.parquet"
    flip(trace, 4 * trace.stat().st_size)
    with pytest.raises(RunDamaged, match=r"acks\.parquet"):
        whole(store, key)


def test_an_overview_stays_and_goes_with_its_run(store: Store) -> None:
    key = keep(store)
    whole(store, key)
    file = store.derived(key) / OVERVIEW
    os.utime(file, (0, 0))
    prune(store, None, None, dry=False)
    assert file.is_file()
    store.delete(key)
    assert not file.exists()
