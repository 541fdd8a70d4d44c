"""Reads a series of a kept run by name, for a chart, from the run's manifest and the columns of its trace.

A reader occupies one processor for some milliseconds. A caller with many readers runs as many at a time as there are processors; more
would only wait for each other.

A trace with millions of records takes up to a second to read. So a long run has an overview among its derived files: the thinned series of
a run's page, made when the run is kept or when a chart first needs them. Every chart of the whole run with no more points is made of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis import raw_series, series, thinning, timelines
from longhaul.orchestrator.analysis.distributions import Curve, curves_from_columns
from longhaul.orchestrator.analysis.thinning import thin
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, LINK_SERIES, POINTS, Timeline, timeline
from longhaul.orchestrator.analysis.trace_moments import MOST, MomentList, Moments, moment_list
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.results.derived_files import OVERVIEW, content_of
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, NotFound

# The series of a run's page.
PAGE_SERIES = ("cwnd", "ssthresh", "goodput", "rtt", "inflight", "retransmits", "queue", "drops")
# Some 200,000 ACKs.
_LONG_BYTES = 2_000_000
# The points of all lines of a chart, and the least and most of one line (dashboards/web/src/charts/request.ts).
_ALL_POINTS, _POINTS = 24_000, (400, 2000)


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
    """Like `timelines.timeline`, of exactly this kept run; NotFound."""
    source = store.columns(run_id)
    end_s = last_s(store, run_id, end_s)
    return timeline(
        run_of(store, run_id), source, measure, flow=flow, link=link, begin_s=begin_s, end_s=end_s, points=points
    )


def kept_timelines(
    store: Store,
    run_id: str,
    measures: Sequence[str],
    *,
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> list[tuple[str, Timeline]]:
    """Many series of a kept run at once, each with `flow` or `link`: every measure of all flows or links that have it, without empty ones; NotFound."""
    run = run_of(store, run_id)
    if unknown := [name for name in measures if name not in FLOW_SERIES and name not in LINK_SERIES]:
        names = dict.fromkeys([*FLOW_SERIES, *LINK_SERIES])
        raise NotFound("reading the series", unknown[0], "no series has this name", f"names: {', '.join(names)}")
    is_whole = begin_s <= 0 and end_s is None and points <= _overview_points(run)
    if is_whole and set(measures) <= set(PAGE_SERIES) and is_long(store, run_id):
        known = _overview(store, run_id, run)
        return [(kind, _fewer(one, points)) for name in measures for kind, one in known if one.measure == name]
    return _read_timelines(store, run_id, run, measures, begin_s, end_s, points)


def _read_timelines(
    store: Store, run_id: str, run: Run, measures: Sequence[str], begin_s: float, end_s: float | None, points: int
) -> list[tuple[str, Timeline]]:
    found = []
    end_s = last_s(store, run_id, end_s)
    with store.shared_columns(run_id) as source:
        read = partial(timeline, run, source, begin_s=begin_s, end_s=end_s, points=points)
        for name in measures:
            found += [("flow", read(name, flow=one.name)) for one in run.flows if name in FLOW_SERIES]
            found += [("link", read(name, link=one.name)) for one in run.links if name in LINK_SERIES]
    return [(kind, one) for kind, one in found if len(one.t_s)]


def is_long(store: Store, run_id: str) -> bool:
    """Whether a kept run has an overview."""
    with contextlib.suppress(OSError):
        return (store.directory(run_id) / "acks.parquet").stat().st_size >= _LONG_BYTES
    return False


def make_overview(store: Store, run_id: str) -> None:
    """Make the overview of a run that was kept just now, if it is long; a damaged one goes without."""
    if is_long(store, run_id):
        with contextlib.suppress(LonghaulError):
            _overview(store, run_id, run_of(store, run_id))


def _overview(store: Store, run_id: str, run: Run) -> list[tuple[str, Timeline]]:
    def make() -> tuple[bytes, bool]:
        points = _overview_points(run)
        return pack_timelines(run_id, _read_timelines(store, run_id, run, PAGE_SERIES, 0.0, None, points)), True

    made_of = f"{run_id} {_code()}"
    return _unpack(content_of(store.directory(run_id), store.derived(run_id), OVERVIEW, made_of, make))


def _overview_points(run: Run) -> int:
    return max(_POINTS[0], min(_POINTS[1], _ALL_POINTS // max(1, len(run.flows))))


def _fewer(one: Timeline, points: int) -> Timeline:
    if len(one.t_s) <= points:
        return one
    kept = thin(one.t_s, one.values, points)
    return Timeline(one.measure, one.about, one.unit, one.t_s[kept], one.values[kept], one.of_values)


@cache
def _code() -> str:
    """The hash of the code that makes an overview."""
    files = sorted(str(module.__file__) for module in (raw_series, series, thinning, timelines))
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in [__file__, *files])).hexdigest()


def pack_timelines(run_id: str, found: Iterable[tuple[str, Timeline]]) -> bytes:
    """Series as plain numbers.

    The length of a JSON text as a little-endian u32, the text, spaces up to a multiple of 8; then `count` float64 of `t_s` and as many of
    `value`, series by series.
    """
    found = list(found)
    rows = [timeline_row(kind, one) | {"count": len(one.t_s)} for kind, one in found]
    head = json.dumps({"run": run_id, "series": rows}).encode()
    head += b" " * (-(len(head) + 4) % 8)
    body = [np.ascontiguousarray(array, "<f8").tobytes() for _, one in found for array in (one.t_s, one.values)]
    return b"".join([struct.pack("<I", len(head)), head, *body])


def _unpack(content: bytes) -> list[tuple[str, Timeline]]:
    (length,) = struct.unpack_from("<I", content)
    found, at = [], 4 + length
    for row in json.loads(content[4:at])["series"]:
        t_s, values = np.frombuffer(content, "<f8", 2 * row["count"], at).reshape(2, -1)
        found.append((row["kind"], Timeline(row["measure"], row["of"], row["unit"], t_s, values, row["of_values"])))
        at += 16 * row["count"]
    return found


def timeline_row(kind: str, one: Timeline) -> dict[str, Any]:
    """A series in a document, without its values."""
    return {"measure": one.measure, "of": one.about, "kind": kind, "unit": one.unit, "of_values": one.of_values}


def kept_moments(
    store: Store,
    run_id: str,
    kinds: Sequence[str] = (),
    *,
    about: Sequence[str] = (),
    begin_s: float = 0.0,
    end_s: float | None = None,
    skip: int = 0,
    most: int | None = MOST,
    near_s: float | None = None,
) -> Moments:
    """Some moments of a part of a kept run: the first after `skip`, or those around a time; NotFound."""
    end_s = last_s(store, run_id, end_s)
    found = _moment_list(store, run_id, tuple(kinds), tuple(about), begin_s, end_s)
    return found.page(skip, most, near_s)


@lru_cache(maxsize=4)
def _moment_list(
    store: Store, run_id: str, kinds: tuple[str, ...], about: tuple[str, ...], begin_s: float, end_s: float | None
) -> MomentList:
    """A list that is scrolled asks for many pages of one part."""
    with store.shared_columns(run_id) as source:
        return moment_list(run_of(store, run_id), source, kinds=kinds, about=about, begin_s=begin_s, end_s=end_s)


def kept_distribution(store: Store, run_id: str, measure: str) -> list[Curve]:
    """The distribution of a quantity of a kept run over its window, by a name of `DISTRIBUTIONS`, flow by flow or link by link."""
    with store.shared_columns(run_id) as source:
        return curves_from_columns(run_of(store, run_id), source, measure)


@lru_cache(maxsize=64)
def run_of(store: Store, run_id: str) -> Run:
    """A kept run as it was planned. It is cached: a chart reads several of its series, and it never changes, as its id is its hash."""
    return store.planned(run_id)


def last_s(store: Store, run_id: str, end_s: float | None) -> float | None:
    """A part has no value after its end."""
    reached = store.reached_s(run_id)
    return end_s if reached is None else min(reached, reached if end_s is None else end_s)


def as_outline(run: Run, partial_s: float | None = None) -> dict[str, Any]:
    """The outline of a run's charts before their data: its length, flows, links and moments; for a cancelled run, its end."""
    moments = [(flow.start_us, "start", f"{flow.name} starts", flow.name) for flow in run.flows]
    moments += [
        (flow.stop_us, "stop", f"{flow.name} stops", flow.name) for flow in run.flows if flow.stop_us is not None
    ]
    changes = [(mark.at_us, "change", mark.text, None) for mark in run_marks(run)]
    return {
        "experiment": run.experiment,
        "backend": run.backend,
        "clock": run.clock,
        "duration_s": run.duration_us / 1e6,
        "partial_s": partial_s,
        "window_s": [edge_us / 1e6 for edge_us in run.window_us],
        "rtt_ms": run.meaning.rtt_us / 1000,
        "bdp_packets": None if any("delay" in text for _, _, text, _ in changes) else run.meaning.bdp_packets,
        "buffer_packets": run.meaning.buffer_packets or run.meaning.buffer_bytes // run.meaning.frame_bytes,
        "flows": [
            {
                "name": flow.name,
                "kind": flow.kind,
                "cc": flow.cc,
                "start_s": flow.start_us / 1e6,
                "stop_s": None if flow.stop_us is None else flow.stop_us / 1e6,
                "bytes": flow.bytes,
            }
            for flow in run.flows
        ],
        "links": [
            {
                "name": link.name,
                "queue": link.queue,
                "rate_bps": link.rate_bps,
                "limit_packets": link.queue_limit_packets,
                "rates": [{"t_s": begin_us / 1e6, "bps": bps} for begin_us, _, bps in run.link_rates(link)],
                "recorded": bool(link.offered_bytes),
            }
            for link in run.links
        ],
        "moments": [
            {"t_s": at_us / 1e6, "kind": kind, "text": text, "flow": flow}
            for at_us, kind, text, flow in sorted([*moments, *changes], key=itemgetter(0))
        ],
    }
