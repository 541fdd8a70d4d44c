"""A Prometheus, and a lab whose runs go there while they go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.live.downsampling import STALE, Downsampler, joined
from orchestrator.live.replay import samples_of
from orchestrator.results.store import Store
from orchestrator.run import Run
from orchestrator.settings import Prometheus, Settings
from tests.guest.conftest import settings
from tests.live.prometheus import PrometheusServer, Stored

__all__ = ["settings"]


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[PrometheusServer]:
    server = PrometheusServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def lab(tmp_path: Path, settings: Settings, prometheus: PrometheusServer) -> Settings:
    """A home of its own that exports."""
    return replace(settings, home=tmp_path / "home", prometheus=Prometheus(prometheus.url))


def expected(store: Store, run_id: str) -> tuple[Stored, int]:
    """What Prometheus should have of a kept run, made of its Parquet alone; and how many samples with the marks of ends."""
    manifest = store.manifest(run_id)
    run = Run.from_json(manifest["run"])
    placed = manifest["document"]["prometheus"]
    downsampler = Downsampler(run, run_id, placed["resolution_ms"])
    pieces = [one for some in samples_of(downsampler, run, store.trace(run_id)) for one in some]
    count = sum(len(one.ms) for one in pieces)
    # A mark of an end is no value: queries do not show it.
    series = joined([one for one in pieces if not (one.bits == STALE).all()])
    return {
        frozenset(downsampler.labels(key).items()): list(
            zip(*(part.tolist() for part in one.placed(placed["begin_ms"])), strict=True)
        )
        for key, one in series.items()
    }, count
