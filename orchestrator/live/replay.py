"""A kept run's samples, from its stored trace by the rule of the live stream: the same bits at the same times.

samples_of(...)            in the order of time, a few seconds of the run at a time
send(...)                  to Prometheus, now, waiting for the responses
write_openmetrics(...)     into a file, for `promtool tsdb create-blocks-from openmetrics`: for runs too old to be sent
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from longhaul.orchestrator.database.prometheus_spans import Span, Spans, earliest_ms
from longhaul.orchestrator.live.downsampling import CELL_MS, Downsampler, Key, Samples, joined
from longhaul.orchestrator.live.metrics import BY_NAME, COUNTER
from longhaul.orchestrator.live.moments import STALE
from longhaul.orchestrator.live.remote_write import RemoteWriter, Request, Verdict, label_block, requests
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import PrometheusExport, RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import ExportError, PlanError, ServiceUnavailable
from longhaul.orchestrator.system.files import whole
from longhaul.orchestrator.system.settings import Prometheus
from longhaul.orchestrator.trace.records import Trace

# The part of a run processed at a time, so that not all of it is in memory at once.
_PIECE_NS = 5_000_000_000
# A server may be away this long before an error is raised.
_PATIENCE_S, _AGAIN_S = 20.0, 0.5


def pieces_of(trace: Trace, end_ns: int) -> Iterator[Trace]:
    """A trace cut at the same times in all of its kinds, each kind in its order; the last piece has the rest."""
    times = {kind: np.maximum.accumulate(records["t_ns"]) for kind, records in trace.kinds().items()}
    edges_ns = np.arange(_PIECE_NS, end_ns, _PIECE_NS, dtype=np.uint64)
    places = {kind: np.concatenate([[0], np.searchsorted(t_ns, edges_ns), [len(t_ns)]]) for kind, t_ns in times.items()}
    for number in range(len(edges_ns) + 1):
        cuts = {kind: slice(at[number], at[number + 1]) for kind, at in places.items()}
        yield Trace(*(records[cuts[kind]] for kind, records in trace.kinds().items()))


def samples_of(downsampler: Downsampler, run: Run, trace: Trace) -> Iterator[list[Samples]]:
    """All samples of a run, from the whole of its trace."""
    for piece in pieces_of(trace, run.duration_us * 1000):
        yield downsampler.feed(piece)
    yield downsampler.finish()


def requests_of(run: Run, run_id: str, trace: Trace, span: Span) -> Iterator[Request]:
    """All samples of a run, as requests."""
    downsampler = Downsampler(run, run_id, span.resolution_ms)
    blocks: dict[Key, bytes] = {}
    for settled in samples_of(downsampler, run, trace):
        for one in settled:
            blocks.setdefault(one.series, label_block(downsampler.labels(one.series)))
        yield from requests((blocks[one.series], *one.placed(span.begin_ms)) for one in settled)


def place_of(store: Store, run: Run, document: RunDocument, server: Prometheus | None) -> Span:
    """The time span of a kept run: its recorded one, else a free one."""
    run_id = document["run"]
    spans = Spans(store.database)
    if (known := Span.of_document(document.get("prometheus", {}))) is not None:
        return known
    cell_ms = server.resolution_ms if server else CELL_MS
    window_s = server.window_s if server else Prometheus("").window_s
    return spans.place(run_id, run.duration_us // 1000 + cell_ms, cell_ms, window_s)


def send(store: Store, document: RunDocument, server: Prometheus | None) -> PrometheusExport:
    """Send a kept run, and record its time span in its document; ExportError if it is too old, or is refused."""
    run_id = document["run"]
    if server is None:
        hint = "set it to http://HOST:PORT of a Prometheus that accepts remote write"
        raise PlanError("sending run", run_id, "LONGHAUL_PROMETHEUS is not set", hint)
    run = store.planned(run_id)
    span = place_of(store, run, document, server)
    _check_age(run_id, span, server)
    Spans(store.database).put(run_id, span)
    writer = RemoteWriter(server)
    samples = 0
    try:
        for request in requests_of(run, run_id, store.trace(run_id), span):
            _push(writer, request, run_id, samples)
            samples += request.samples
    finally:
        writer.close()
    counts: PrometheusExport = {"samples": samples, "waiting": 0, "refused": 0}
    return {**span.as_document(), **counts}


def _check_age(run_id: str, span: Span, server: Prometheus) -> None:
    now_ms = int(time.time() * 1000)
    if span.begin_ms >= earliest_ms(now_ms, server.window_s):
        return
    what = (
        f"it is {(now_ms - span.begin_ms) / 3_600_000:.1f} h old, and Prometheus accepts samples younger than its"
        f" out_of_order_time_window of {server.window_s / 3600:g} h"
    )
    hint = (
        f"write it with `longhaul export {run_id} --to openmetrics -o FILE`, and let"
        " `promtool tsdb create-blocks-from openmetrics FILE DIRECTORY` convert it to blocks in Prometheus' data directory"
    )
    raise ExportError("sending run", run_id, what, hint)


def _push(writer: RemoteWriter, request: Request, run_id: str, before: int) -> None:
    begun_s = time.monotonic()
    while True:
        answer = writer.push(request)
        if answer.verdict is Verdict.TAKEN:
            return
        subject = f"run {run_id} to {writer.url}"
        if answer.verdict is Verdict.REFUSED:
            raise ExportError("sending", subject, f"after {before} samples it refused one for good: {answer.why}")
        if time.monotonic() - begun_s > _PATIENCE_S:
            hint = "check whether it runs; the same command sends all samples again, without duplicates"
            raise ServiceUnavailable("sending", subject, f"{answer.why}, after {before} samples", hint)
        time.sleep(_AGAIN_S)


def write_openmetrics(store: Store, document: RunDocument, server: Prometheus | None, output: Path) -> int:
    """Write a kept run as OpenMetrics; returns the number of samples. The format has no end mark of a series."""
    run_id = document["run"]
    run = store.planned(run_id)
    span = place_of(store, run, document, server)
    downsampler = Downsampler(run, run_id, span.resolution_ms)
    pieces = itertools.chain.from_iterable(samples_of(downsampler, run, store.trace(run_id)))
    series = joined([one for one in pieces if not (one.bits == STALE).all()])
    with whole(output) as place, place.open("w") as file:
        return _write(file, series, downsampler, span)


def _write(file: TextIO, series: dict[Key, Samples], downsampler: Downsampler, span: Span) -> int:
    count = 0
    for metric, some in itertools.groupby(sorted(series), key=lambda key: key[0]):
        about = BY_NAME[metric]
        family = metric.removesuffix("_total") if about.kind == COUNTER else metric
        file.write(f"# TYPE {family} {about.kind}\n# HELP {family} {about.help}\n")
        for key in some:
            named = ",".join(
                f'{name}="{_escaped(value)}"' for name, value in downsampler.labels(key).items() if name != "__name__"
            )
            ms, bits = series[key].placed(span.begin_ms)
            times = (ms / 1000).tolist()
            file.writelines(
                f"{metric}{{{named}}} {value!r} {at_s:.3f}\n"
                for at_s, value in zip(times, bits.view(np.float64).tolist(), strict=True)
            )
            count += len(times)
    file.write("# EOF\n")
    return count


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
