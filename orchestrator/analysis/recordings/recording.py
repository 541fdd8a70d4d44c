"""A recording: the flows of a file, as counts and samples over time, and its measures in a window, as a run's document has them.

    Recording --- RecordedFlow*   bytes and retransmissions so far; samples of round trips and windows

A recording's time zero is that of its tool: the start of the test, or the first packet. It has no path: a queue is not seen from its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from longhaul.orchestrator.analysis.fairness import jain
from longhaul.orchestrator.analysis.panels import Panel, Series
from longhaul.orchestrator.analysis.series import Counter, Floats, bins_s
from longhaul.orchestrator.plan.run_document import FlowNumbers, RunDocument
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

BACKEND = "recording"
_LEAST_BIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Samples:
    """Values at times; smoothed ones are those of TCP's own estimate, which has no extremes."""

    t_s: Floats
    value: Floats
    smoothed: bool = False

    def within(self, begin_s: float, end_s: float) -> Floats:
        """The values of a part."""
        found: Floats = self.value[(self.t_s >= begin_s) & (self.t_s <= end_s)]
        return found


@dataclass(frozen=True, slots=True)
class RecordedFlow:
    """`completed_s` is when a transfer with a size was complete; None for others."""

    name: str
    kind: str
    bytes: Counter
    retransmits: Counter | None = None
    rtt_ms: Samples | None = None
    cwnd_packets: Samples | None = None
    cc: str | None = None
    completed_s: float | None = None

    def shifted(self, name: str, by_s: float) -> RecordedFlow:
        """The same with another name, later by that."""
        return replace(
            self,
            name=name,
            bytes=_later(self.bytes, by_s),
            retransmits=None if self.retransmits is None else _later(self.retransmits, by_s),
            rtt_ms=None if self.rtt_ms is None else replace(self.rtt_ms, t_s=self.rtt_ms.t_s + by_s),
            cwnd_packets=None
            if self.cwnd_packets is None
            else replace(self.cwnd_packets, t_s=self.cwnd_packets.t_s + by_s),
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """The flows of a file; `notes` say what its values are where they are not what a run has."""

    name: str
    tool: str
    flows: tuple[RecordedFlow, ...]
    notes: tuple[str, ...] = ()

    @property
    def end_s(self) -> float:
        """When its last flow ends."""
        return max((float(flow.bytes.t_s[-1]) for flow in self.flows), default=0.0)

    def matched(self, flows: Sequence[FlowNumbers], match: Mapping[str, str]) -> Recording:
        """The same with the names of a run's flows, and from their start on.

        `match` has the name of a recorded flow, or a part of it, for some flows; the others are matched by name, or else in order: TCP with TCP, UDP with UDP.
        """
        chosen = dict(self._chosen(flows, match))
        left = [flow for flow in self.flows if all(flow is not other for other in chosen.values())]
        for flow in flows:
            kind = "udp" if flow["kind"] == "udp" else "tcp"
            if flow["name"] not in chosen and (found := next((one for one in left if one.kind == kind), None)):
                chosen[flow["name"]] = found
                left = [one for one in left if one is not found]
        if not chosen:
            what = f"it has no flow of the kind of {', '.join(flow['name'] for flow in flows)}"
            raise PlanError(
                "comparing with", self.name, what, f"its flows: {', '.join(flow.name for flow in self.flows)}"
            )
        starts_s = {flow["name"]: flow["start_s"] for flow in flows}
        by_s = min(starts_s[name] for name in chosen) - min(float(one.bytes.t_s[0]) for one in chosen.values())
        renamed = [f"{one.name} as {name}" for name, one in chosen.items() if one.name != name]
        notes = [f"{self.name} has its flow {', '.join(renamed)}"] if renamed else []
        notes += [f"{self.name} has {len(left)} more flows, which the run has not"] if left else []
        return replace(
            self,
            flows=tuple(one.shifted(name, by_s) for name, one in chosen.items()),
            notes=(*self.notes, *notes),
        )

    def _chosen(self, flows: Sequence[FlowNumbers], match: Mapping[str, str]) -> Iterator[tuple[str, RecordedFlow]]:
        names = [flow["name"] for flow in flows]
        for name, text in match.items():
            found = [one for one in self.flows if text in one.name]
            if name not in names or len(found) != 1:
                what = f"the run has no flow {name}" if name not in names else f"{len(found)} flows contain {text!r}"
                known = (
                    f"flows of the run: {', '.join(names)}; of {self.name}: {', '.join(one.name for one in self.flows)}"
                )
                raise PlanError("matching flows of", self.name, what, known)
            yield name, found[0]
        yield from ((one.name, one) for one in self.flows if one.name in names and one.name not in match)

    def document(self, run: RunDocument) -> RunDocument:
        """Its measures in the window of a run, in the form of that run's document; those over all flows only if it has all flows of the run."""
        begin_s, end_s = run["from_s"], min(run["to_s"], self.end_s)
        flows = [_flow_numbers(flow, begin_s, end_s) for flow in self.flows]
        rates = [flow["goodput_bps"] for flow in flows]
        has_all = len(flows) == len(run["flows"])
        for flow in flows:
            flow["share"] = flow["goodput_bps"] / sum(rates) if has_all and sum(rates) else None
        total = sum(flow.bytes.rate(begin_s, end_s) * 8 for flow in self.flows) if has_all else None
        # A run's index is of its long flows of TCP.
        long = [one["kind"] == "tcp" and one["completion_s"] is None for one in run["flows"]]
        found: Mapping[str, Any] = {
            "run": self.name,
            "experiment": self.tool,
            "status": "done",
            "backend": BACKEND,
            "clock": "real",
            "seed": run["seed"],
            "point": run["point"],
            "cached": False,
            "from_s": begin_s,
            "to_s": end_s,
            "flows": flows,
            "path": {},
            "links": [],
            "jain": jain(np.array(rates)) if has_all and all(long) else None,
            "goodput_total": total,
        }
        return cast("RunDocument", found)

    def panels(self) -> list[Panel]:
        """Its series, in the panels of a run."""
        lines: dict[tuple[str, str], list[Series]] = {}
        for flow in self.flows:
            label = f"{flow.name} in {self.name}"
            edges_s = bins_s(0.0, self.end_s, max(_LEAST_BIN_S, _spacing_s(flow.bytes)))
            if len(edges_s) > 1:
                middles: Floats = (edges_s[:-1] + edges_s[1:]) / 2
                line = Series(label, middles, flow.bytes.rates(edges_s) * 8e-6)
                lines.setdefault(("Goodput", "Mbit/s"), []).append(line)
            for title, unit, samples in (
                ("Congestion window", "packets", flow.cwnd_packets),
                ("Round trip", "ms", flow.rtt_ms),
            ):
                if samples is not None and len(samples.t_s):
                    lines.setdefault((title, unit), []).append(Series(label, samples.t_s, samples.value))
        return [Panel(title, unit, series) for (title, unit), series in lines.items()]


def _later(counter: Counter, by_s: float) -> Counter:
    return replace(counter, t_s=counter.t_s + by_s)


def _spacing_s(counter: Counter) -> float:
    """The time between two counts, as most are apart."""
    return float(np.median(np.diff(counter.t_s))) if len(counter.t_s) > 1 else _LEAST_BIN_S


def _flow_numbers(flow: RecordedFlow, begin_s: float, end_s: float) -> dict[str, Any]:
    begin_s, end_s = max(begin_s, float(flow.bytes.t_s[0])), min(end_s, float(flow.bytes.t_s[-1]))
    seconds = bins_s(begin_s, end_s, 1.0)
    per_second = flow.bytes.rates(seconds) * 8 if len(seconds) > 2 else np.zeros(0)
    mean = float(per_second.mean()) if len(per_second) else 0.0
    found: dict[str, Any] = {
        "name": flow.name,
        "kind": flow.kind,
        "cc": flow.cc,
        "goodput_bps": flow.bytes.rate(begin_s, end_s) * 8,
        "goodput_cv": float(per_second.std()) / mean if mean > 0 else None,
        "stability_sd_bps": float(per_second.std()) if len(per_second) else None,
        "bytes": round(float(flow.bytes.value[-1] - flow.bytes.value[0])),
        "completion_s": flow.completed_s,
        "share": None,
    }
    if flow.retransmits is not None:
        first, last = flow.retransmits.at(np.array([begin_s, end_s]))
        found["retransmits"] = round(float(last - first))
    if flow.rtt_ms is not None and len(values := flow.rtt_ms.within(begin_s, end_s)):
        found["rtt_ms"] = _round_trips(values, smoothed=flow.rtt_ms.smoothed)
    if flow.cwnd_packets is not None and len(values := flow.cwnd_packets.within(begin_s, end_s)):
        found["cwnd_packets"] = {"mean": float(values.mean()), "max": float(values.max())}
    return found


def _round_trips(values: Floats, *, smoothed: bool) -> dict[str, float]:
    if smoothed:
        return {"mean": float(values.mean())}
    percentiles = dict(zip(("p50", "p95", "p99"), np.percentile(values, [50, 95, 99]).tolist(), strict=True))
    return {"min": float(values.min()), "mean": float(values.mean()), **percentiles}
