"""flent's data file, for its plots and for scripts that read it: the flows' goodput, and round trips, on one grid of times.

The test is `tcp_nup`, which has the same series: a TCP upload each, their sum and mean, and a ping, which is here the mean of the round trips that
the flows' ACKs measured.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.raw_series import Span, round_trips
from longhaul.orchestrator.analysis.series import Floats, bins_s, counter
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.trace.records import EVER, ColumnSource

_VERSION = 4
_TEST, _STEP_S = "tcp_nup", 0.2
_PING = "Ping (ms) ICMP"
# A run has no date.
_TIME = "1970-01-01T00:00:00.000000Z"

_Values = Sequence[float | None]


def flent_files(run: Run, document: RunDocument, source: ColumnSource) -> Iterator[tuple[str, bytes]]:
    """One file for the run; flows of UDP and web users are not in it, as flent's test has none."""
    flows = [flow for flow in run.flows if flow.kind in ("tcp", "program")]
    edges_s = bins_s(0.0, run.duration_us / 1e6, _STEP_S)
    uploads = [_upload(run, flow, source, edges_s) for flow in flows]
    results: dict[str, _Values] = {f"TCP upload::{number}": values for number, values in enumerate(uploads, 1)}
    steps = zip(*uploads, strict=True) if uploads else [()] * (len(edges_s) - 1)
    totals = [[value for value in step if value is not None] for step in steps]
    results["TCP upload sum"] = [sum(values) if values else None for values in totals]
    results["TCP upload avg"] = [sum(values) / len(values) if values else None for values in totals]
    results[_PING] = _round_trips(run, flows, source, edges_s)
    x_values = edges_s[1:].tolist()
    # A cache of an unchanged run stays the same: gzip's own time is left out.
    content = gzip.compress(json.dumps(_data_file(run, document, flows, x_values, results)).encode(), mtime=0)
    yield f"{_TEST}-{document['run']}.flent.gz", content


def _data_file(
    run: Run, document: RunDocument, flows: Sequence[Flow], x_values: list[float], results: dict[str, _Values]
) -> dict[str, Any]:
    units = {name: "ms" if name == _PING else "Mbits/s" for name in results}
    about = {
        f"TCP upload::{number}": {"CONG_CONTROL": flow.cc, "FLOW": flow.name} for number, flow in enumerate(flows, 1)
    }
    length_s = run.duration_us / 1e6
    return {
        "version": _VERSION,
        "metadata": {
            "NAME": _TEST,
            "TITLE": run.title,
            "TIME": _TIME,
            "T0": _TIME,
            "DATA_FILENAME": f"{_TEST}-{document['run']}.flent.gz",
            "LENGTH": length_s,
            "TOTAL_LENGTH": length_s,
            "STEP_SIZE": _STEP_S,
            "HOST": flows[0].to_node if flows else "",
            "LOCAL_HOST": flows[0].from_node if flows else "",
            "HOSTS": sorted({flow.to_node for flow in flows}),
            "KERNEL_NAME": "Linux",
            "KERNEL_RELEASE": document["kernel"],
            "NOTE": f"exported from run {document['run']} of Longhaul; times are of virtual time",
            "TEST_PARAMETERS": {"upload_streams": len(flows)},
            "SERIES_META": {name: {"UNITS": unit, **about.get(name, {})} for name, unit in units.items()},
        },
        "x_values": x_values,
        "results": results,
        "raw_values": {
            name: [{"t": t_s, "val": value} for t_s, value in zip(x_values, values, strict=True) if value is not None]
            for name, values in results.items()
        },
    }


def _upload(run: Run, flow: Flow, source: ColumnSource, edges_s: Floats) -> _Values:
    """Mbit/s in each step; None before the flow starts and after it stops."""
    rates = counter(source("flow", ["app_bytes"], flow.id, EVER), "app_bytes", run).rates(edges_s) * 8e-6
    start_s = flow.start_us / 1e6
    stop_s = (run.duration_us if flow.stop_us is None else flow.stop_us) / 1e6
    return [
        float(rate) if start_s < end_s and begin_s < stop_s else None
        for rate, begin_s, end_s in zip(rates, edges_s[:-1], edges_s[1:], strict=True)
    ]


def _round_trips(run: Run, flows: Sequence[Flow], source: ColumnSource, edges_s: Floats) -> _Values:
    total, count = np.zeros(len(edges_s) - 1), np.zeros(len(edges_s) - 1)
    for flow in flows:
        raw = round_trips(run, source, flow, Span(0.0, run.duration_us / 1e6, 0))
        total += np.histogram(raw.t / raw.a_second, edges_s, weights=raw.values / raw.a_unit)[0]
        count += np.histogram(raw.t / raw.a_second, edges_s)[0]
    return [float(value / number) if number else None for value, number in zip(total, count, strict=True)]
