"""The sandbox against Mininet in real time, with traffic of the agent and of iperf3: wall time and CPU time, measured alternately."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from tests.bench.cases import GOODPUT_TOLERANCE, Bench, Row
from tests.bench.longhaul_side import BenchError, Measured, one_flow, run_longhaul


@dataclass(frozen=True, slots=True)
class Place:
    """A place of Mininet in real time, and its command-line options."""

    title: str
    options: tuple[str, ...]


_PLACES = (
    Place("Mininet in a guest", ("--backend", "mininet", "--in", "guest", "--clock", "real")),
    Place("Mininet on this host", ("--backend", "mininet", "--in", "host")),
)
_PATHS = ("10 Mbit/s", "100 Mbit/s")
_TOOLS = {"lh-flow": "real time", "iperf3": "iperf3"}


def real_time(bench: Bench) -> Iterator[Row]:
    """How many times faster the same experiment is; real time cannot be accelerated."""
    yield from _against(bench, "lh-flow", "times faster", lambda one: one.wall_s)


def iperf3(bench: Bench) -> Iterator[Row]:
    """How many times the CPU time the same goodput takes with Mininet and iperf3, both sides as a whole."""
    yield from _against(bench, "iperf3", "times the CPU", lambda one: one.cpu_s)


def _against(bench: Bench, tool: str, unit: str, cost: Callable[[Measured], float]) -> Iterator[Row]:
    duration_s = 5 if bench.quick else 20
    for place in _PLACES:
        for bandwidth in _PATHS:
            ours = one_flow(bandwidth, "40 ms", duration_s)
            theirs = ours | {"flows": [{"name": "app", "cc": "htcp", "tool": tool}]}
            part, case = _TOOLS[tool], f"{bandwidth} × 40 ms, {duration_s} s, {place.title}"
            try:
                pairs = [
                    (run_longhaul(ours, bench.home), run_longhaul(theirs, bench.home, *place.options))
                    for _ in range(bench.repeats)
                ]
            except BenchError as error:
                yield Row(part, case, unit, None, note=f"not measured: {error}")
                continue
            yield _row(part, case, unit, pairs, cost)


def _row(
    part: str, case: str, unit: str, pairs: list[tuple[Measured, Measured]], cost: Callable[[Measured], float]
) -> Row:
    our_bps, their_bps = (median(_goodput_bps(pair[side]) for pair in pairs) for side in (0, 1))
    fair = abs(our_bps - their_bps) <= GOODPUT_TOLERANCE * our_bps
    ours, theirs = (median(cost(pair[side]) for pair in pairs) for side in (0, 1))
    note = f"{ours:.2f} s against {theirs:.2f} s; {our_bps / 1e6:.1f} against {their_bps / 1e6:.1f} Mbit/s"
    return Row(
        part,
        case,
        unit,
        median(cost(theirs) / cost(ours) for ours, theirs in pairs) if fair else None,
        note=note + ("" if fair else ": not the same work"),
        details={"ours_s": ours, "theirs_s": theirs, "goodput_bps": our_bps, "their_goodput_bps": their_bps},
    )


def _goodput_bps(one: Measured) -> float:
    return float(one.run["flows"][0]["goodput_bps"])
