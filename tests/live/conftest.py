"""A Prometheus, and a lab that streams its runs there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.live.downsampling import Downsampler, joined
from longhaul.orchestrator.live.moments import STALE
from longhaul.orchestrator.live.replay import samples_of
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Prometheus, Settings
from longhaul.orchestrator.trace.records import Trace
from tests.live.prometheus import PrometheusServer, Stored
from tests.support.guests import settings

__all__ = ["settings"]


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[PrometheusServer]:
    server = PrometheusServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def lab(tmp_path: Path, settings: Settings, prometheus: PrometheusServer) -> Settings:
    """A separate home that exports."""
    return replace(settings, home=tmp_path / "home", prometheus=Prometheus(prometheus.url))


def samples_in(run: Run, run_id: str, trace: Trace, placed: Mapping[str, Any]) -> tuple[Stored, int]:
    """The samples of a trace that Prometheus should have at that time, and their number including the end marks."""
    downsampler = Downsampler(run, run_id, placed["resolution_ms"])
    pieces = [one for some in samples_of(downsampler, run, trace) for one in some]
    count = sum(len(one.ms) for one in pieces)
    # An end mark is not a value: queries do not show it.
    series = joined([one for one in pieces if not (one.bits == STALE).all()])
    return {
        frozenset(downsampler.labels(key).items()): list(
            zip(*(part.tolist() for part in one.placed(placed["begin_ms"])), strict=True)
        )
        for key, one in series.items()
    }, count


def expected(store: Store, run_id: str) -> tuple[Stored, int]:
    """The expected samples of a kept run, made from its Parquet files alone."""
    manifest = store.manifest(run_id)
    run = Run.from_json(manifest["run"])
    return samples_in(run, run_id, store.trace(run_id), manifest["document"]["prometheus"])
