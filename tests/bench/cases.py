"""The parts of the benchmark: speed, overhead, memory, modules, topologies, ns-3. Each gives rows of a measured number and its bar.

Other load on the machine causes noise, so a number is the median of a few repeats, and compared programs run alternately.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.longhaul_side import BenchError, Measured, in_one_guest, one_flow, run_longhaul
from tests.bench.ns3_side import build_ns3, ns3_version, run_ns3


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number and the bar it has to clear; `value` is None where nothing could be measured."""

    part: str
    case: str
    unit: str
    value: float | None
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool | None:
        """Whether the bar is cleared; None where there is no number or no bar."""
        if self.value is None or (self.at_least is None and self.at_most is None):
            return None
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value < self.at_most
        )


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder of the runs, the repeats of each case, and whether long cases are left out."""

    folder: Path
    repeats: int
    quick: bool

    @property
    def home(self) -> Path:
        """A LONGHAUL_HOME with a catalogue in it."""
        return self.folder / "home"

    def measure(self, experiment: dict[str, Any], most: int | None = None) -> list[Measured]:
        """The same experiment a few times, `most` times at most."""
        return [run_longhaul(experiment, self.home) for _ in range(min(self.repeats, most or self.repeats))]


@dataclass(frozen=True, slots=True)
class SpeedCase:
    """One path; the virtual time takes some seconds of real time and is long enough for the flow to fill the path."""

    bandwidth: str
    rtt: str
    duration_s: int
    quick_s: int
    at_least: float
    most_repeats: int | None = None


SPEED_CASES = (
    SpeedCase("1 Mbit/s", "40 ms", 5000, 1000, 500),
    SpeedCase("10 Mbit/s", "40 ms", 1000, 200, 100),
    SpeedCase("100 Mbit/s", "40 ms", 100, 20, 10),
    SpeedCase("1 Gbit/s", "40 ms", 10, 5, 2.5),
    # Never shortened: slow start in the first seconds has few packets, which would make the number too good.
    SpeedCase("10 Gbit/s", "300 ms", 20, 20, 0.5, most_repeats=1),
)


def speed(bench: Bench) -> Iterator[Row]:
    """Virtual seconds per second of real time: one flow, 1 BDP of buffer, every ACK traced."""
    for case in SPEED_CASES:
        duration_s = case.quick_s if bench.quick else case.duration_s
        measured = bench.measure(one_flow(case.bandwidth, case.rtt, duration_s), case.most_repeats)
        guest_wall_s = median(float(one.run["wall_s"]) for one in measured)
        wall_s = median(one.wall_s for one in measured)
        goodput_bps = float(measured[0].run["flows"][0]["goodput_bps"])
        yield Row(
            "speed",
            f"{case.bandwidth} × {case.rtt}",
            "virtual s / wall s",
            duration_s / guest_wall_s,
            at_least=case.at_least,
            note=f"{duration_s} s in {guest_wall_s:.2f} s, {wall_s:.2f} s with the pipeline; {goodput_bps / 1e6:.4g} Mbit/s",
            details={
                "virtual_s": duration_s,
                "guest_wall_s": guest_wall_s,
                "wall_s": wall_s,
                "goodput_bps": goodput_bps,
                "max_rss_mb": measured[0].run["max_rss_kb"] / 1000,
            },
        )


# Few packets, so that the fixed cost of a run remains.
_TINY = one_flow("1 Mbit/s", "40 ms", 1)
_TINY_WALL_MOST_S = 1.0
_SWEEP_SHORT, _SWEEP_LONG = 40, 80
_ONE_MORE_MOST_S = 0.15


def overhead(bench: Bench) -> Iterator[Row]:
    """The fixed cost of a run: alone from the command line, and one more in a sweep."""
    bench.measure(_TINY)
    yield _tiny_run(bench, "with a catalogue", lambda: None)
    yield _tiny_run(bench, "without a home", lambda: shutil.rmtree(bench.home))
    yield _one_more(bench)


def _tiny_run(bench: Bench, what: str, prepare: Callable[[], None]) -> Row:
    walls_s = []
    for _ in range(2 * bench.repeats + 1):
        prepare()
        walls_s.append(run_longhaul(_TINY, bench.home).wall_s)
    return Row(
        "overhead",
        f"a 1 s run, {what}",
        "wall s",
        median(walls_s),
        at_most=_TINY_WALL_MOST_S,
        note=f"{min(walls_s):.2f} to {max(walls_s):.2f} s, the whole process",
        details={"walls_s": walls_s},
    )


def _one_more(bench: Bench) -> Row:
    """CPU time of the longer sweep less that of the shorter, of runs with hardly any packets."""
    pairs = []
    for repeat in range(bench.repeats):
        few, many = (_new_sweep(bench, points, repeat) for points in (_SWEEP_SHORT, _SWEEP_LONG))
        pairs.append((many.cpu_s - few.cpu_s, many.guest_cpu_s - few.guest_cpu_s))
    extra = _SWEEP_LONG - _SWEEP_SHORT
    around_s = median(cpu_s - guest_s for cpu_s, guest_s in pairs) / extra
    guest_s = median(guest_s for _, guest_s in pairs) / extra
    return Row(
        "overhead",
        "one more run of a sweep",
        "CPU s",
        around_s + guest_s,
        at_most=_ONE_MORE_MOST_S,
        note=f"{around_s * 1e3:.0f} ms around the guest, {guest_s * 1e3:.0f} ms an idle guest",
        details={"around_guest_cpu_s": around_s, "guest_cpu_s": guest_s},
    )


def _new_sweep(bench: Bench, points: int, repeat: int) -> Measured:
    """A sweep without a run that is kept already, which would be compared with the new one, file by file.

    Its home is another folder: for some seconds after a deletion ext4 takes ten times as long to make a file.
    """
    sweep = {"path.rtt": [f"{10 + point} ms" for point in range(points)]}
    idle = {"flows": [{"name": "app", "cc": "htcp", "size": "1 KB"}]}
    return run_longhaul(one_flow("1 Mbit/s", "40 ms", 1, sweep=sweep) | idle, bench.folder / f"home-{points}-{repeat}")


_MEMORY_MOST_MB = 300


def memory(bench: Bench) -> Iterator[Row]:
    """The peak memory of the guest's process."""
    run = run_longhaul(one_flow("1 Gbit/s", "100 ms", 5 if bench.quick else 15), bench.home).run
    yield Row("memory", "1 Gbit/s × 100 ms", "MB", run["max_rss_kb"] / 1000, at_most=_MEMORY_MOST_MB, note="guest")


# The largest graph in use so far, and the time its guest may take until packets can flow.
_PAIRS, _READY_MOST_S = 250, 5.0


def topologies(bench: Bench) -> Iterator[Row]:
    """The wall time of a guest with hardly any packets: boot, every node and wire with its read-back, power off."""
    experiment = one_flow("100 Mbit/s", "1 ms", 1) | {"params": {"n": _PAIRS}, "duration": "50 ms"}
    wall_s = median(float(one.run["wall_s"]) for one in bench.measure(experiment))
    yield Row(
        "topologies",
        f"dumbbell of 2 × {_PAIRS} hosts, ready",
        "wall s",
        wall_s,
        at_most=_READY_MOST_S,
        note=f"{2 * _PAIRS + 2} namespaces, {2 * _PAIRS + 1} wires, and the end of the guest",
    )


@dataclass(frozen=True, slots=True)
class Ns3Case:
    """One dumbbell for both sides; ns-3 runs once where it takes minutes; where it takes seconds the sides alternate.

    Slow start grows by a segment an ACK in ns-3, and by the acknowledged segments in Linux. No setting of ns-3 matches in
    both respects: with an ACK for two segments it handles as many ACKs as Linux; with an ACK for each it doubles, overshoots
    and loses as Linux does. Both are measured.
    """

    rate_mbps: int
    buffer_packets: int
    duration_s: int
    segments_per_ack: int
    ns3_runs: int
    at_least: float


# At 100 Mbit/s most of a run of 10 s is the start of the process; 100 s show the speed of packets.
NS3_CASES = (
    Ns3Case(100, 350, 10, 1, 5, 8),
    Ns3Case(100, 350, 10, 2, 5, 8),
    Ns3Case(100, 350, 100, 1, 1, 16),
    Ns3Case(100, 350, 100, 2, 1, 16),
    Ns3Case(1000, 3500, 10, 1, 1, 100),
    Ns3Case(1000, 3500, 10, 2, 1, 100),
)
_NS3_RTT_MS = 40
GOODPUT_TOLERANCE = 0.1


# Parameters with which a module fills 10 Gbit/s x 20 ms from the start, since the cost of an ACK is measured, not the law.
_FILLING: dict[str, dict[str, Any]] = {
    "apptcp": {"rate": "9 Gbit/s"},
    "htcp_be": {"beta_floor": 0.9},
    "agilesd": {},
    "ccp": {},
    "ccpd": {},
    "compound": {},
}
_MODULE_MOST = 1.3
SEGMENT_BYTES = 1448


def modules(bench: Bench) -> Iterator[Row]:
    """The cost of a segment with each of the project's modules, alternating with cubic on the same path."""
    for cc, params in _FILLING.items():
        pairs = [
            (_per_segment_us(bench, cc, params), _per_segment_us(bench, "cubic", {})) for _ in range(2 * bench.repeats)
        ]
        yield Row(
            "modules",
            f"{cc}, 10 Gbit/s × 20 ms",
            "times cubic",
            median(ours / cubics for ours, cubics in pairs),
            at_most=_MODULE_MOST,
            note=f"{median(ours for ours, _ in pairs):.2f} against {median(cubics for _, cubics in pairs):.2f} us a segment",
            details={"pairs_us": pairs},
        )


def _per_segment_us(bench: Bench, cc: str, params: dict[str, Any]) -> float:
    flow = {"name": "app", "cc": cc, "params": params}
    experiment = one_flow("10 Gbit/s", "20 ms", 1 if bench.quick else 2) | {"flows": [flow]}
    measured = run_longhaul(in_one_guest(experiment), bench.home)
    segments = float(measured.run["flows"][0]["bytes"]) / SEGMENT_BYTES
    return measured.guest_cpu_s * 1e6 / segments


def ns3(bench: Bench) -> Iterator[Row]:
    """Whole processes compared, start-up included; without ns-3 the notes of the rows report that."""
    cases = NS3_CASES[:2] if bench.quick else NS3_CASES
    try:
        version = ns3_version()
        program = build_ns3(bench.folder)
    except BenchError as error:
        yield from (_ns3_row(case, None, note=f"not measured: {error}") for case in cases)
        return
    for case in cases:
        yield _compare(bench, program, version, case)


def _compare(bench: Bench, program: Path, version: str, case: Ns3Case) -> Row:
    buffer = f"{case.buffer_packets} packets"
    experiment = one_flow(f"{case.rate_mbps} Mbit/s", f"{_NS3_RTT_MS} ms", case.duration_s, buffer)
    ours, theirs = [], []
    for _ in range(case.ns3_runs):
        ours.append(run_longhaul(experiment, bench.home))
        theirs.append(
            run_ns3(program, case.rate_mbps, _NS3_RTT_MS, case.buffer_packets, case.duration_s, case.segments_per_ack)
        )
        ours.append(run_longhaul(experiment, bench.home))
    our_wall_s, their_wall_s = median(one.wall_s for one in ours), median(one.wall_s for one in theirs)
    our_bps, their_bps = float(ours[0].run["flows"][0]["goodput_bps"]), float(theirs[0].result["goodput_bps"])
    fair = abs(our_bps - their_bps) <= GOODPUT_TOLERANCE * their_bps
    goodputs = f"{our_bps / 1e6:.1f} against {their_bps / 1e6:.1f} Mbit/s"
    return _ns3_row(
        case,
        their_wall_s / our_wall_s if fair else None,
        note=f"{our_wall_s:.2f} s against {their_wall_s:.2f} s; {goodputs}{'' if fair else ': not the same work'}",
        details={
            "ns3": version,
            "wall_s": our_wall_s,
            "guest_wall_s": median(float(one.run["wall_s"]) for one in ours),
            "ns3_wall_s": their_wall_s,
            "goodput_bps": our_bps,
            "ns3_goodput_bps": their_bps,
            "ns3_packets": theirs[0].result["packets"],
        },
    )


def _ns3_row(case: Ns3Case, value: float | None, note: str, details: dict[str, Any] | None = None) -> Row:
    acks = "an ACK each" if case.segments_per_ack == 1 else "an ACK for two"
    name = f"{case.rate_mbps} Mbit/s × {_NS3_RTT_MS} ms, {case.duration_s} s, {acks}"
    return Row("ns-3", name, "times faster", value, at_least=case.at_least, note=note, details=details or {})
