"""One run in two guests against the same run in one, and a run that captures packets against the same run without, measured alternately."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from tests.bench.cases import Bench, Row
from tests.bench.longhaul_side import one_flow, run_longhaul

_PARTS = (1, 2)
_CAPTURE_AT_MOST = 1.3
# By default the run takes two guests.
_CAPTURE_FORMS: tuple[tuple[str, dict[str, int]], ...] = (("in one guest", {"parts": 1}), ("by default", {}))


def guests(bench: Bench) -> Iterator[Row]:
    """Paths of one flow, and a thousand flows; each with the speed-up that it must reach."""
    thousand = one_flow("1 Gbit/s", "40 ms", 2 if bench.quick else 10)
    thousand["flows"] = [{"name": "app", "cc": "htcp", "count": 1000}]
    cases: tuple[tuple[str, dict[str, Any], float], ...] = (
        ("100 Mbit/s × 40 ms", one_flow("100 Mbit/s", "40 ms", 20, buffer="350 packets"), 1.4),
        ("1 Gbit/s × 40 ms", one_flow("1 Gbit/s", "40 ms", 3 if bench.quick else 10, buffer="3500 packets"), 1.6),
        ("10 Gbit/s × 300 ms", one_flow("10 Gbit/s", "300 ms", 8 if bench.quick else 20, buffer="250000 packets"), 1.6),
        ("1,000 flows on 1 Gbit/s × 40 ms", thousand, 1.4),
    )
    for name, experiment, at_least in cases:
        found: dict[int, list[float]] = {parts: [] for parts in _PARTS}
        traces = set()
        for _ in range(2 * bench.repeats + 1):
            for parts, measured in found.items():
                run = run_longhaul(experiment | {"parts": parts}, bench.home).run
                measured.append(float(run["wall_s"]))
                traces.add(run["trace_sha256"])
        one, two = (median(found[parts]) for parts in _PARTS)
        virtual_s = float(experiment["duration"].removesuffix(" s"))
        same = "the same trace" if len(traces) == 1 else f"{len(traces)} DIFFERENT TRACES"
        yield Row(
            "guests",
            name,
            "times as fast",
            one / two,
            at_least=at_least,
            note=f"{one:.2f} s and {two:.2f} s for {virtual_s:g} virtual s, {same}",
            details={"one_s": found[1], "two_s": found[2]},
        )


def captures(bench: Bench) -> Iterator[Row]:
    """One flow on 1 Gbit/s, captured at the bottleneck."""
    for form, parts in _CAPTURE_FORMS:
        plain = one_flow("1 Gbit/s", "40 ms", 3 if bench.quick else 10) | parts
        captured = plain | {"capture": {"at": ["bottleneck"]}}
        found: dict[str, list[float]] = {"without": [], "with": []}
        traces = set()
        for _ in range(2 * bench.repeats + 1):
            for name, experiment in (("without", plain), ("with", captured)):
                measured = run_longhaul(experiment, bench.home)
                found[name].append(measured.wall_s)
                traces.add(measured.run["trace_sha256"])
        without_s, with_s = median(found["without"]), median(found["with"])
        same = "the same trace" if len(traces) == 1 else f"{len(traces)} DIFFERENT TRACES"
        yield Row(
            "captures",
            f"1 Gbit/s × 40 ms, {plain['duration']}, {form}",
            "times the time",
            with_s / without_s,
            at_most=_CAPTURE_AT_MOST,
            note=f"{without_s:.2f} s without and {with_s:.2f} s with packets at the bottleneck, {same}",
            details={"without_s": found["without"], "with_s": found["with"]},
        )
