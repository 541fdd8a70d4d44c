"""A series of a kept run by name, for a chart: the run's manifest and the columns of its trace come together here.

A reader keeps one processor busy for some milliseconds. Who has many readers lets as many at a time as there are processors; more of
them only wait for each other.
"""

from __future__ import annotations

from functools import lru_cache

from orchestrator.analysis.timelines import POINTS, Timeline, timeline
from orchestrator.results.store import Store
from orchestrator.run import Run


def kept_timeline(
    store: Store,
    run_id: str,
    measure: str,
    *,
    flow: str | None = None,
    link: str | None = None,
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> Timeline:
    """As `timelines.timeline`, of exactly this kept run; NotFound."""
    source = store.columns(run_id)
    return timeline(
        _run(store, run_id), source, measure, flow=flow, link=link, begin_s=begin_s, end_s=end_s, points=points
    )


@lru_cache(maxsize=64)
def _run(store: Store, run_id: str) -> Run:
    """Whoever looks at a chart asks for several series of the same run, which never changes: its id is its hash."""
    return Run.from_json(store.manifest(run_id)["run"])
