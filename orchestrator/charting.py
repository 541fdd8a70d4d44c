"""A series of a kept run by name, for a chart: the run's manifest and the columns of its trace come together here."""

from __future__ import annotations

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
    run = Run.from_json(store.manifest(run_id)["run"])
    return timeline(run, source, measure, flow=flow, link=link, begin_s=begin_s, end_s=end_s, points=points)
