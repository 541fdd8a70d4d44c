"""Sources of recordings: files and kept runs, each as the bytes that arrived in consecutive intervals.

mahimahi, table                        its capacity, piece by piece of the file
packet capture, iperf3, flent          the data of its transfers
kept run                               the frames that left a link
`longhaul hosts measure --json`        one rate, with half the least round trip as delay
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from longhaul.orchestrator.execution.recording_library import duration_ns, open_file
from longhaul.orchestrator.recorded_links.chunks import NS_PER_S, Ints
from longhaul.orchestrator.recorded_links.formats import TABLE, format_of
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.system.errors import PlanError, ResultsError, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.units import format_rate

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.recordings.recording import RecordedFlow, Recording
    from longhaul.orchestrator.plan.run import Link
    from longhaul.orchestrator.trace.records import Columns

Floats = npt.NDArray[np.float64]
# The bytes in each interval of this length in nanoseconds, in parts; the last interval may be shorter.
Steps = Callable[[int], Iterator[Floats]]

CONVERTING = "converting"
FILLED = "a rate that a transfer reached is the capacity of its path only while the transfer filled the path"

_RUN_ID = re.compile("[0-9a-f]{1,20}")
# So many intervals are computed at a time.
_BLOCK = 1 << 16
_MEASURED = {"sender", "receiver", "rate_bps", "capped", "least_rtt_us"}
_LARGEST_JSON_BYTES = 1 << 20
_KINDS = (
    "a packet capture, the output of `iperf3 -J` or of `longhaul hosts measure --json`, a data file of flent, a kept run, "
    "or a recording (.csv, .parquet, mahimahi)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes in intervals; `format` is that of a recording, None for others, and `notes` are caveats. The delay holds all the time."""

    length_ns: int
    steps: Steps
    format: str | None = None
    delay_ms: float | None = None
    notes: tuple[str, ...] = ()


def open_recording(
    file: str, format: str | None = None, columns: Mapping[str, str] | None = None, step: str | None = None
) -> RecordedFile:
    """The recording of a file, or of the reference of an imported one; PlanError if there is none."""
    return open_file(load_settings(), file, format, columns, None if step is None else duration_ns(step, "--step"))


# ---- recordings, piece by piece


def steps_of(recorded: RecordedFile, step_ns: int) -> Iterator[Floats]:
    """The bytes that a recording can carry in each interval; an opportunity at the end of an interval belongs to it."""
    begin_ns, unfinished = 0, 0.0
    for end_ns, until in _parts(recorded):
        whole = end_ns // step_ns
        for first in range(begin_ns // step_ns, whole, _BLOCK):
            grid_ns = np.arange(first, min(first + _BLOCK, whole) + 1) * step_ns
            grid_ns[0] = max(int(grid_ns[0]), begin_ns)
            steps = np.diff(until(grid_ns))
            steps[0] += unfinished
            unfinished = 0.0
            yield steps
        ends = np.array([max(whole * step_ns, begin_ns), end_ns])
        unfinished += float(np.diff(until(ends))[0])
        begin_ns = end_ns
    if begin_ns % step_ns:
        yield np.array([unfinished])


def _parts(recorded: RecordedFile) -> Iterator[tuple[int, Callable[[Ints], Floats]]]:
    """The end of each part of the file, and the bytes from its begin until any of its instants."""
    held_ns, held_bps = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for chunk in recorded.chunks():
        if chunk.opportunities is not None:
            # Those of the first instant belong to the first interval.
            at_ns = np.maximum(chunk.at_ns, 1)
            yield int(at_ns[-1]), _counted(at_ns, np.append(0, np.cumsum(chunk.opportunities)))
        elif chunk.rate_bps is not None:
            at_ns, bps = np.append(held_ns, chunk.at_ns), np.append(held_bps, chunk.rate_bps)
            if len(at_ns) > 1:
                yield int(at_ns[-1]), _even(at_ns, bps[:-1])
            held_ns, held_bps = at_ns[-1:], bps[-1:]
    if len(held_ns):
        end_ns = recorded.summary.length_ns
        yield end_ns, _even(np.append(held_ns, end_ns), held_bps)


def _counted(at_ns: Ints, sums: Ints) -> Callable[[Ints], Floats]:
    return lambda until_ns: sums[np.searchsorted(at_ns, until_ns, side="right")].astype(np.float64)


def _even(edges_ns: Ints, bps: Ints) -> Callable[[Ints], Floats]:
    sums = np.append(0.0, np.cumsum(bps * (np.diff(edges_ns) / (8 * NS_PER_S))))
    return lambda until_ns: np.interp(until_ns, edges_ns, sums)


# ---- sources


def source_of(
    named: str, flow: str | None, link: str | None, columns: Mapping[str, str] | None, step: str | None
) -> Source:
    """The source with this name: a file, an imported recording, or a kept run by the beginning of its id; PlanError."""
    path = Path(named)
    is_file = path.exists() or named.startswith("sha256:")
    if not is_file and not _RUN_ID.fullmatch(named):
        raise PlanError(CONVERTING, named, "it is neither a file nor the beginning of a run's id", f"name {_KINDS}")
    if is_file and link is not None:
        raise PlanError(CONVERTING, named, "only a kept run has links", "leave out --link")
    if not is_file:
        if flow is not None:
            raise PlanError(CONVERTING, named, "of a kept run a link is converted, not a flow", "leave out --flow")
        return _of_run(named, link)
    if path.is_dir():
        raise PlanError(CONVERTING, named, "it is a folder", "name a file")
    measured = None if named.startswith("sha256:") or format_of(path) == TABLE else _measured(path)
    if isinstance(measured, Mapping) or measured is None:
        if flow is not None:
            raise PlanError(CONVERTING, named, "it has no flows", "leave out --flow")
        return _of_recording(open_recording(named, None, columns, step)) if measured is None else _of_path(measured)
    return _of_transfers(named, measured, flow)


def _measured(path: Path) -> Recording | Mapping[str, Any] | None:
    """The transfers, or the path between hosts, that a program measured, by the content of the file; None for other files."""
    from longhaul.orchestrator.analysis.recordings.read import read_recordings

    try:
        if found := read_recordings(path):
            return found[0]
    except ResultsError as error:
        raise PlanError(error.attempting, error.subject, error.what, error.hint) from error
    with path.open("rb") as file:
        content = file.read(_LARGEST_JSON_BYTES)
    if content.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, Mapping) or not document.keys() >= _MEASURED:
        raise PlanError(CONVERTING, str(path), "it is JSON of another program", f"name {_KINDS}")
    return document


def _of_recording(recorded: RecordedFile) -> Source:
    summary = recorded.summary
    if summary.mean_bps is None:
        raise PlanError(CONVERTING, str(recorded.path), "it has no rates", "name a recording with rates")
    has_more = summary.least_delay_ns is not None or summary.mean_loss is not None
    notes = ("delays and losses of the recording are left out",) if has_more else ()
    return Source(summary.length_ns, lambda step_ns: steps_of(recorded, step_ns), recorded.format, notes=notes)


def _of_path(measured: Mapping[str, Any]) -> Source:
    subject = f"the path from {measured['sender']} to {measured['receiver']}"
    rate_bps, least_rtt_us = measured["rate_bps"], measured["least_rtt_us"]
    for name, value in (("rate_bps", rate_bps), ("least_rtt_us", least_rtt_us)):
        if type(value) is not int or value <= 0:
            raise PlanError(
                CONVERTING, subject, f"its {name} is {value!r}, and not a number above 0", "measure it again"
            )
    least = (
        (f"the sender was limited to {format_rate(rate_bps)}: the path may carry more",) if measured["capped"] else ()
    )
    return Source(
        NS_PER_S,
        lambda step_ns: _blocks(lambda until_ns: until_ns * (rate_bps / (8 * NS_PER_S)), NS_PER_S, step_ns),
        delay_ms=least_rtt_us / 2000,
        notes=("the delay is half of the least round trip", FILLED, *least),
    )


def _of_run(named: str, link: str | None) -> Source:
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.trace.records import EVER

    store = Store(load_settings())
    run_id = store.get(named)["run"]
    if (fault := store.fault(run_id)) is not None:
        raise fault
    run = store.planned(run_id)
    chosen = _link(run_id, run.links, link)
    until = _sent(store.columns(run_id)("link", ["tx_bytes"], chosen.id, EVER), run.trace.tick_us * 1000)
    length_ns = run.duration_us * 1000
    return Source(
        length_ns,
        lambda step_ns: _blocks(until, length_ns, step_ns),
        notes=(f"the rates are those of the frames that left {chosen.name}", FILLED),
    )


def _sent(records: Columns, tick_ns: int) -> Callable[[Ints], Floats]:
    """The bytes that left a queue, counted at each tick at which there are more: they leave evenly from the tick before."""
    # A tick is written some nanoseconds after its instant.
    at_ns = records["t_ns"].astype(np.int64) // 1000 * 1000
    counts = records["tx_bytes"].astype(np.int64)
    before_ns = np.maximum(at_ns - tick_ns, np.append(0, at_ns)[:-1])
    knots_ns = np.append(0, np.column_stack([before_ns, at_ns]).ravel())
    sums = np.append(0, np.column_stack([np.append(0, counts)[:-1], counts]).ravel())
    return lambda until_ns: np.interp(until_ns, knots_ns, sums)


def _link(run_id: str, links: Sequence[Link], name: str | None) -> Link:
    known = {one.name: one for one in links}
    if not known or (name is not None and name not in known):
        what = f"it has no link {name}" if known else "it has no link with a trace"
        hint = f"its links: {', '.join(known)}{nearest(name or '', known)}" if known else "name another run"
        raise PlanError(CONVERTING, f"run {run_id}", what, hint)
    return links[0] if name is None else known[name]


def _of_transfers(named: str, recording: Recording, flow: str | None) -> Source:
    flows = [one for one in recording.flows if flow is None or flow == one.name]
    flows = flows or [one for one in recording.flows if flow is not None and flow in one.name]
    known = f"its transfers: {', '.join(one.name for one in recording.flows)}"
    if not flows:
        raise PlanError(CONVERTING, named, f"it has no transfer {flow}", known)
    if _are_opposed(recording.tool, [one.name for one in flows]):
        what = "its transfers have opposite directions, and a recording is of one"
        raise PlanError(CONVERTING, named, what, f"choose those of one with --flow; {known}")
    begin_s = min(float(one.bytes.t_s[0]) for one in flows)
    length_ns = round((max(float(one.bytes.t_s[-1]) for one in flows) - begin_s) * NS_PER_S)
    if not length_ns:
        raise PlanError(CONVERTING, named, "its data arrived in one instant", "name a longer measurement")

    def until(until_ns: Ints) -> Floats:
        arrived = [_arrived(one, begin_s + until_ns / NS_PER_S, recording.tool) for one in flows]
        return np.asarray(np.sum(arrived, axis=0), dtype=np.float64)

    together = (f"the rates are the sum of {', '.join(one.name for one in flows)}",) if len(flows) > 1 else ()
    # Its round trips are not converted.
    others = (note for note in recording.notes if "round trip" not in note)
    return Source(
        length_ns,
        lambda step_ns: _blocks(until, length_ns, step_ns),
        notes=(*together, *others, "the rates are those of data, without headers", FILLED),
    )


def _are_opposed(tool: str, names: Sequence[str]) -> bool:
    """Whether a host is the sender of one transfer and the receiver of another; flent names the directions."""
    if tool == "flent":
        return any("upload" in name for name in names) and any("download" in name for name in names)
    ends = [[end.rpartition(":")[0] for end in name.split(" to ")] for name in names] if tool == "packets" else []
    return bool({sender for sender, _ in ends} & {receiver for _, receiver in ends})


def _arrived(flow: RecordedFlow, t_s: Floats, tool: str) -> Floats:
    """The bytes of a transfer until these times. Those of a packet arrive with it; between the reports of a program they arrive evenly."""
    if tool != "packets":
        return flow.bytes.at(t_s)
    # Half a nanosecond of tolerance, so that a packet at an end of an interval is within it.
    place = np.searchsorted(flow.bytes.t_s, t_s + 5e-10, side="right") - 1
    return np.where(place >= 0, flow.bytes.value[np.maximum(place, 0)], 0.0)


def _blocks(until: Callable[[Ints], Floats], length_ns: int, step_ns: int) -> Iterator[Floats]:
    """The bytes in each interval of a count that is known at any instant, from 0 on."""
    count = -(-length_ns // step_ns)
    for first in range(0, count, _BLOCK):
        edges_ns = np.minimum(np.arange(first, min(first + _BLOCK, count) + 1) * step_ns, length_ns)
        sums = until(edges_ns)
        if not first:
            # Bytes of the first instant belong to the first interval.
            sums[0] = 0.0
        yield np.diff(sums)
