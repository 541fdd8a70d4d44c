"""Writes flent's data file: JSON of version 4, compressed with gzip; the same run gives the same bytes.

metadata      what flent records of a test: its name, date, hosts, length, each series' unit and mean; LONGHAUL has what is known of the run
x_values      the times of the steps, seconds
results       series by name: a value for each step, or null
raw_values    the same with times since 1970, and the statistics of sockets beside the goodput
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.formats.exported_run import ExportedRun
from longhaul.orchestrator.analysis.formats.flent.flent_test import FlentTest, flent_test
from longhaul.orchestrator.analysis.formats.flent.series import Series, computed, ping, transfer
from longhaul.orchestrator.analysis.series import Floats, bins_s
from longhaul.orchestrator.plan.run import Flow, point_text

_VERSION = 4
_STEP_S = 0.2
# A long run of many flows has longer steps, so that its file has no more values of goodput than this.
_MOST_VALUES = 200_000


def flent_files(exported: ExportedRun) -> Iterator[tuple[str, bytes]]:
    """One file for the run."""
    test = flent_test(exported.run)
    name = f"{test.name}-{exported.document['run']}.flent.gz"
    content = json.dumps(_data_file(exported, test), allow_nan=False).encode()
    # gzip's own time is left out.
    yield name, gzip.compress(content, mtime=0)


def _data_file(exported: ExportedRun, test: FlentTest) -> dict[str, Any]:
    edges_s = _edges_s(exported.run.duration_us / 1e6, len(test.transfers))
    measured = {one: transfer(exported, flow, edges_s) for one, flow in test.transfers.items()}
    measured |= {one: ping(exported, flows, edges_s) for one, flows in test.pings.items()}
    made = {one: computed(what, [measured[of] for of in names], len(edges_s) - 1) for one, what, names in test.computed}
    x_values = [round(end_s, 6) for end_s in edges_s[1:].tolist()]
    return {
        "version": _VERSION,
        "metadata": _metadata(exported, test, edges_s) | {"SERIES_META": _series_meta(test, measured, made)},
        "x_values": x_values,
        "results": {one: series.values for one, series in (measured | made).items()}
        | {f"{one}::{of}": values for one, series in measured.items() for of, values in series.of_socket.items()},
        "raw_values": {
            one: list(_raw_values(exported.kept_at.timestamp(), x_values, float(edges_s[1]), series))
            for one, series in measured.items()
        },
    }


def _metadata(exported: ExportedRun, test: FlentTest, edges_s: Floats) -> dict[str, Any]:
    run, kept_at = exported.run, _date(exported.kept_at)
    flows = list(test.transfers.values())
    length_s = run.duration_us / 1e6
    begin_s = min((flow.start_us / 1e6 for flow in flows), default=0.0)
    end_s = max((flow.start_us / 1e6 + exported.length_s(flow) for flow in flows), default=length_s)
    kind = "virtual" if run.clock == "virtual" else "real"
    return {
        "NAME": test.name,
        "TITLE": run.title,
        "NOTE": f"exported from run {exported.document['run']} of Longhaul; its times are of {kind} time",
        "TIME": kept_at,
        "T0": kept_at,
        "DATA_FILENAME": _group_name(exported, test),
        "LENGTH": math.ceil(end_s - begin_s),
        "TOTAL_LENGTH": length_s,
        "STEP_SIZE": round(float(edges_s[1]), 6),
        "IP_VERSION": 4,
        "HOST": test.hosts[0] if test.hosts else "",
        "HOSTS": list(test.hosts),
        "LOCAL_HOST": _client(test),
        "KERNEL_NAME": "Linux",
        "KERNEL_RELEASE": exported.document["kernel"],
        "TEST_PARAMETERS": dict(test.parameters),
        "LONGHAUL": _about(exported),
    }


def _group_name(exported: ExportedRun, test: FlentTest) -> str:
    """The name by which flent's combined plots group files: they leave out the same beginning of all, and the number of the repeat."""
    run = exported.run
    # flent takes the first number that stands alone for that of the repeat.
    words = [test.name, run.experiment, *(point_text({name: text}) for name, text in run.point.items())]
    return "-".join([*(re.sub(r"\W+", "_", word) for word in words), f"{run.seed:02d}.flent.gz"])


def _about(exported: ExportedRun) -> dict[str, Any]:
    """What a reader needs to find the run again, and its path."""
    run = exported.run
    return {
        "RUN": exported.document["run"],
        "EXPERIMENT": run.experiment,
        "POINT": dict(run.point),
        "SEED": run.seed,
        "BACKEND": run.backend,
        "RTT_US": run.meaning.rtt_us,
        "LINKS": [
            {
                "NAME": link.name,
                "RATE_BPS": link.rate_bps,
                "ONE_WAY_US": link.one_way_us,
                "QUEUE": link.queue,
                "LIMIT_PACKETS": link.queue_limit_packets,
                "LIMIT_BYTES": link.queue_limit_bytes,
            }
            for link in run.links
        ],
    }


def _series_meta(
    test: FlentTest, measured: Mapping[str, Series], made: Mapping[str, Series]
) -> dict[str, dict[str, Any]]:
    more = {one: _of_flow(flow) for one, flow in test.transfers.items()}
    # flent marks a series that it computed with this.
    more |= {one: {"COMPUTED_LATE": False} for one in made}
    return {
        one: {"UNITS": series.unit, "MEAN_VALUE": series.mean, **more.get(one, {})}
        for one, series in {**measured, **made}.items()
    }


def _of_flow(flow: Flow) -> dict[str, Any]:
    return {"CONG_CONTROL": flow.cc, "FLOW": flow.name, "DATA_TOS": flow.options.dscp << 2}


def _client(test: FlentTest) -> str:
    """The host that runs flent: the sender of an upload, and the receiver of a download."""
    for name, flow in test.transfers.items():
        return flow.to_node if name.startswith("TCP download") else flow.from_node
    return ""


def _date(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _edges_s(length_s: float, transfers: int) -> Floats:
    """The edges of the steps; a run that is shorter than one has one step."""
    steps = length_s / _STEP_S
    width_s = _STEP_S * max(1, math.ceil(steps * transfers / _MOST_VALUES))
    return bins_s(0.0, length_s, width_s) if steps >= 1 else np.array([0.0, length_s])


def _raw_values(zero_s: float, x_values: list[float], width_s: float, series: Series) -> Iterator[dict[str, float]]:
    if series.samples:
        yield from ({"t": round(zero_s + t_s, 6), "val": value} for t_s, value in series.samples)
        return
    for place, x_s in enumerate(x_values):
        found = {"val": series.values[place]} | {of: values[place] for of, values in series.of_socket.items()}
        known = {of: value for of, value in found.items() if value is not None}
        if "val" in known:
            known["dur"] = width_s
        if known:
            yield {"t": round(zero_s + x_s, 6), **known}
