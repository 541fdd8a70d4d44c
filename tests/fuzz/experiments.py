"""Unusual experiments as plain data, drawn by the fuzz; a guest runs each in about a second.

Values lie where faults are likely: at the bounds of a range, at its default, at powers of two; other flows share the path, and the
path changes during the run. A drawn experiment is valid unless a rule that is not copied here ties its fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.parameters import Parameter
from longhaul.orchestrator.system.units import format_duration, format_rate, parse_duration

Written = dict[str, Any]

PROJECT_CONTROLS = ("apptcp", "htcp_be", "agilesd", "ccp", "ccpd", "compound")
COMPANIONS = ("cubic", "reno")

# After a blackout, the next retransmission comes after as long again, and a little more.
_AFTER_BLACKOUT = 3
_SETTLING_US = 8_000_000

_MTUS = st.one_of(st.just(1500), st.sampled_from([576, 1280, 9000]), st.integers(576, 9000))
_QUEUES = st.one_of(st.just("droptail"), st.sampled_from(["codel", "fq_codel", "pie", "red", "cake", "step"]))
_SMALL_SHARES = st.sampled_from(["1e-5", "1e-4", "0.1 %", "1 %", "2 %"])
_SHARES = st.one_of(_SMALL_SHARES, st.sampled_from(["5 %", "20 %"]))


# A share of the time that the budget allows.
_EIGHTHS = st.sampled_from([4, 1, 2, 8])
_LONGEST_US = 90_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """The highest cost of one experiment: full frames that cross the bottleneck, and flows."""

    packets: int
    flows: int


def _log_integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Every order of magnitude with the same probability."""
    return st.integers(low.bit_length(), high.bit_length()).flatmap(
        lambda bits: st.integers(max(low, 1 << (bits - 1)), min(high, (1 << bits) - 1))
    )


def _rates_kbps() -> st.SearchStrategy[int]:
    """Mostly slow paths, whose runs may be long."""
    slow = _log_integers(64, 100_000)
    return st.one_of(st.integers(64, 2_000), slow, slow, slow, st.sampled_from([10**6, 10**7]))


def values_of(parameter: Parameter) -> st.SearchStrategy[int]:
    """Numbers from the module's range: bounds, default, neighbours, anything between."""
    low, high = parameter.low, parameter.high
    near = {low, min(low + 1, high), max(high - 1, low), high, max(parameter.default, low)}
    return st.one_of(st.sampled_from(sorted(near)), st.integers(low, high), _log_integers(max(low, 1), high))


def _written(parameter: Parameter, value: int) -> object:
    return value if parameter.unit == "number" else parameter.show(value)


@st.composite
def _parameters(draw: st.DrawFn, cc: str) -> Written:
    """The module's parameters, the same for all its flows."""
    drawn = [one for one in CONGESTION_CONTROLS[cc].parameters if one.socket_option is None and draw(st.booleans())]
    return {one.name: _written(one, draw(values_of(one))) for one in drawn}


def _time(us: int) -> str:
    return format_duration(us)


@st.composite
def _path(draw: st.DrawFn, rate_kbps: int) -> Written:
    longest_us = 5 * 10**6 if rate_kbps <= 100_000 else 300_000  # what a guest's memory can hold
    rtt_us = draw(st.one_of(_log_integers(100, longest_us), st.just(40_000), st.sampled_from([1, longest_us])))
    path: Written = {"bandwidth": format_rate(rate_kbps * 1000)}
    if draw(st.integers(0, 4)) == 4:
        forward_us = draw(st.integers(0, rtt_us))
        path["one_way"] = {"forward": _time(forward_us), "reverse": _time(rtt_us - forward_us)}
    else:
        forward_us = rtt_us // 2
        path["rtt"] = _time(rtt_us)
    path["buffer"] = draw(_buffers(rate_kbps, rtt_us))
    if draw(st.booleans()):
        path["queue"] = draw(_QUEUES)
        if path["queue"] == "step":
            path["mark_at"] = f"{draw(st.integers(1, 1000))} packets"
    if draw(st.integers(0, 3)) == 3:
        path["ecn"] = True
    if draw(st.booleans()):
        path["mtu"] = draw(_MTUS)
    path |= draw(_impairments(forward_us))
    if draw(st.integers(0, 5)) == 5:
        path["reverse_bandwidth"] = format_rate(draw(st.integers(64, max(64, rate_kbps))) * 1000)
    return path


@st.composite
def _buffers(draw: st.DrawFn, rate_kbps: int, rtt_us: int) -> str:
    packets = f"{draw(_log_integers(1, 2000))} packets"
    if rate_kbps * rtt_us < 12_000_000:  # less than one packet in flight: a BDP is no useful unit for a buffer
        return packets
    return draw(
        st.sampled_from([packets, "0.1 BDP", "1 BDP", "1 BDP", "4 BDP", f"{draw(st.integers(20, 2000))} KB", "200 ms"])
    )


@st.composite
def _impairments(draw: st.DrawFn, forward_us: int) -> Written:
    drawn: Written = {}
    chance = draw(st.integers(0, 5))
    if chance in (3, 4):
        drawn["loss"] = draw(_SHARES)
    elif chance == 5:
        drawn["burst"] = {"p": draw(_SMALL_SHARES), "r": draw(st.sampled_from(["1 %", "10 %", "50 %"])), "bad": "80 %"}
    if draw(st.integers(0, 4)) == 4:
        drawn["reverse_loss"] = draw(_SHARES)
    if forward_us and draw(st.integers(0, 5)) == 5:
        drawn["jitter"] = _time(draw(st.integers(0, min(forward_us, 2_000_000))))
    if forward_us and draw(st.integers(0, 9)) == 9:
        drawn["reorder"] = draw(_SMALL_SHARES)
    if draw(st.integers(0, 9)) == 9:
        drawn["duplicate"] = draw(_SMALL_SHARES)
    return drawn


@st.composite
def _flow(draw: st.DrawFn, name: str, cc: str, params: Written, duration_us: int, most: int) -> Written:
    flow: Written = {"name": name, "cc": cc}
    params = dict(params)
    for parameter in CONGESTION_CONTROLS[cc].parameters:
        if parameter.socket_option is not None and draw(st.booleans()):
            params[parameter.name] = _written(parameter, draw(values_of(parameter)))
    if params:
        flow["params"] = params
    if most > 1 and draw(st.integers(0, 3)) == 3:
        flow["count"] = draw(_log_integers(1, most))
    start_us = 0
    if draw(st.booleans()):
        start_us = draw(st.integers(0, duration_us // 2))
        flow["start"] = _time(start_us)
    if draw(st.integers(0, 4)) == 4:
        flow["stop"] = _time(draw(st.integers(start_us + 1, duration_us)))
    if draw(st.integers(0, 4)) == 4:
        flow["size"] = f"{draw(_log_integers(1, 10**7))} B"
    if draw(st.integers(0, 4)) == 4:
        flow["sack"] = False
    if draw(st.integers(0, 4)) == 4:
        flow["recovery"] = "dupthresh"
    if draw(st.integers(0, 5)) == 5:
        flow["window"] = f"{draw(_log_integers(1, 4000))} packets"
    if draw(st.integers(0, 5)) == 5:
        flow["initial_window"] = draw(_log_integers(1, 1000))
    return flow


def _other_traffic(rate_kbps: int) -> st.SearchStrategy[Written]:
    rate = st.integers(8, max(8, rate_kbps)).map(lambda kbps: format_rate(kbps * 1000))
    time = st.sampled_from(["10 ms", "1 s"])
    return st.one_of(
        st.builds(lambda rate: {"name": "steady", "udp": rate}, rate),
        st.builds(
            lambda rate, on, off: {"name": "bursts", "on_off": {"rate": rate, "on": on, "off": off}}, rate, time, time
        ),
        st.builds(lambda think: {"name": "web", "web": {"mean": "20 KB", "think": think}}, time),
    )


@st.composite
def _path_change(draw: st.DrawFn, path: Written, rate_kbps: int, lossy: bool) -> Written:
    """A new path at one moment; fields that have to stay above others (the delay above the jitter) do not change."""
    change: Written = {}
    if "rtt" in path and "jitter" not in path and "reorder" not in path and draw(st.booleans()):
        change["rtt"] = draw(st.sampled_from(["1 ms", "4 ms", "40 ms", "400 ms", "1 s"]))
    if draw(st.booleans()):
        change["bandwidth"] = format_rate(draw(st.integers(64, max(64, rate_kbps))) * 1000)
    # A queue counts either packets or bytes during its whole life.
    if path["buffer"].endswith(("packets", "BDP")) and draw(st.integers(0, 2)) == 2:
        change["buffer"] = f"{draw(_log_integers(1, 2000))} packets"
    if lossy and "burst" not in path and draw(st.booleans()):
        change["loss"] = draw(_SHARES)
    if draw(st.integers(0, 2)) == 2:
        change["mtu"] = draw(st.integers(576, path.get("mtu", 1500)))
    return change or {"bandwidth": format_rate(max(64, rate_kbps // 10) * 1000)}


@st.composite
def _flow_changes(draw: st.DrawFn, alive: list[str], controls: dict[str, str]) -> Written:
    """Other controls for some flows, or other parameters for all flows of one control; `controls` is updated."""
    if draw(st.booleans()):
        changes: Written = {}
        for name in draw(st.lists(st.sampled_from(alive), min_size=1, max_size=3, unique=True)):
            controls[name] = draw(st.sampled_from(PROJECT_CONTROLS + COMPANIONS))
            changes[name] = {"cc": controls[name]}
        return changes
    cc = controls[draw(st.sampled_from(alive))]
    params = draw(_parameters(cc)) if cc in PROJECT_CONTROLS else {}
    return {name: {"params": params} for name in alive if controls[name] == cc} if params else {}


@st.composite
def _schedule(
    draw: st.DrawFn,
    path: Written,
    rate_kbps: int,
    flows: list[Written],
    from_us: int,
    until_us: int,
    lossy: bool = True,
) -> list[Written]:
    """Some moments at which the path changes, the flows, or both."""
    times = sorted(draw(st.lists(st.integers(from_us, until_us), max_size=4, unique=True)))
    controls = {flow["name"]: flow["cc"] for flow in flows if "cc" in flow}
    schedule: list[Written] = []
    for at_us in times:
        moment: Written = {"at": _time(at_us)}
        alive = [
            flow["name"]
            for flow in flows
            if "cc" in flow and ("stop" not in flow or parse_duration(flow["stop"]) > at_us)
        ]
        changes_flows = bool(alive) and draw(st.booleans())
        if changes_flows and (changes := draw(_flow_changes(alive, controls))):
            moment["flows"] = changes
        if "flows" not in moment or draw(st.booleans()):
            moment["path"] = draw(_path_change(path, rate_kbps, lossy))
        schedule.append(moment)
    return schedule


@st.composite
def _blackout(draw: st.DrawFn, path: Written, begin_us: int, length_us: int) -> list[Written]:
    """All packets are lost, in one direction or both; afterwards the path is as before."""
    dark: Written = {}
    if draw(st.booleans()):
        dark["reverse_loss"] = "100 %"
    if not dark or draw(st.booleans()):
        dark["loss"] = "100 %"
    light: Written = {name: path.get(name, 0.0) for name in dark}
    if "loss" in dark and "burst" in path:
        del light["loss"]
        light["burst"] = path["burst"]
    return [{"at": _time(begin_us), "path": dark}, {"at": _time(begin_us + length_us), "path": light}]


def _longest_us(budget: Budget, rate_kbps: int, mtu: int) -> int:
    return budget.packets * (mtu + 14) * 8 * 1000 // rate_kbps


@st.composite
def experiments(draw: st.DrawFn, kernel: str, budget: Budget) -> Written:
    """One experiment with many features at once."""
    rate_kbps = draw(_rates_kbps())
    path = draw(_path(rate_kbps))
    longest_us = _longest_us(budget, rate_kbps, path.get("mtu", 1500))
    if draw(st.integers(0, 39)) == 39:  # sometimes a run long enough for a large window
        longest_us *= 8
    schedule: list[Written] = []
    if draw(st.integers(0, 2)) == 2 and longest_us > 3 * _SETTLING_US:
        # As long as the budget allows with the time needed after it; half a minute if the path is slow enough.
        most_us = min(30_000_000, (longest_us - 2 * _SETTLING_US) // (1 + _AFTER_BLACKOUT))
        length_us = draw(st.one_of(st.integers(1, most_us), st.just(most_us)))
        begin_us = draw(st.integers(0, _SETTLING_US))
        duration_us = begin_us + (1 + _AFTER_BLACKOUT) * length_us + _SETTLING_US
        flows = draw(_flows(rate_kbps, duration_us, budget.flows))
        dark = draw(_blackout(path, begin_us, length_us))
        # During the blackout and after it, everything else may change too.
        schedule = dark + draw(_schedule(path, rate_kbps, flows, begin_us + 1, duration_us - 1, lossy=False))
    else:
        duration_us = min(longest_us, _LONGEST_US) * draw(_EIGHTHS) // 8
        flows = draw(_flows(rate_kbps, duration_us, budget.flows))
        if draw(st.integers(0, 2)):
            schedule = draw(_schedule(path, rate_kbps, flows, 1, duration_us - 1))
    return draw(_whole("fuzz", path, flows, schedule, duration_us, kernel))


@st.composite
def _whole(
    draw: st.DrawFn,
    name: str,
    path: Written,
    flows: list[Written],
    schedule: list[Written],
    duration_us: int,
    kernel: str,
) -> Written:
    """An experiment of these parts, with a drawn seed."""
    experiment: Written = {"experiment": name, "path": path, "flows": flows}
    if schedule:
        experiment["schedule"] = schedule
    end = {"duration": _time(duration_us), "start_jitter": "0 s"}
    return experiment | end | {"seed": draw(st.integers(0, 2**32 - 1)), "kernel": kernel}


@st.composite
def _flows(draw: st.DrawFn, rate_kbps: int, duration_us: int, most: int) -> list[Written]:
    ccs = draw(st.lists(st.sampled_from(PROJECT_CONTROLS), min_size=1, max_size=3))
    ccs += draw(st.lists(st.sampled_from(COMPANIONS), max_size=1))
    params = {cc: draw(_parameters(cc)) if cc in PROJECT_CONTROLS else {} for cc in sorted(set(ccs))}
    flows = []
    for number, cc in enumerate(ccs):
        flows.append(draw(_flow(f"{cc.replace('_', '-')}{number}", cc, params[cc], duration_us, most // len(ccs))))
    if draw(st.integers(0, 3)) == 3:
        flows.append(draw(_other_traffic(rate_kbps)))
    return flows


# Frames that cross a drawn link, and the largest transfer over it: a sender whose buffer is full waits for a random time, which depends on all else.
_LINK_FRAMES = 2_000
_LINK_BYTES = 40_000
_LINK_LONGEST_US = 20_000_000


@st.composite
def plain_links(draw: st.DrawFn, kernel: str) -> Written:
    """A link of a delay, losses, a rate and a drop-tail queue, with traffic that fills it, bursts of it, and changes during the run."""
    rate_kbps = draw(_rates_kbps())
    path = draw(_path(rate_kbps))
    for beyond in ("queue", "mark_at", "ecn", "duplicate", "reorder"):
        path.pop(beyond, None)
    if draw(st.booleans()):
        path["shaper"] = draw(_shapers(rate_kbps, path.get("mtu", 1500)))
    duration_us = max(
        20_000, min(_longest_us(Budget(_LINK_FRAMES, 1), rate_kbps, path.get("mtu", 1500)), _LINK_LONGEST_US)
    )
    flows = [draw(_link_traffic(f"udp{number}", rate_kbps)) for number in range(draw(st.integers(1, 3)))]
    for number in range(draw(st.integers(0, 2))):
        size, start_us = draw(_log_integers(1, _LINK_BYTES)), draw(st.integers(0, duration_us // 2))
        flow: Written = {"name": f"tcp{number}", "cc": draw(st.sampled_from(COMPANIONS))}
        flows.append(flow | {"size": f"{size} B", "start": _time(start_us), "count": draw(st.integers(1, 5))})
    schedule = [
        {"at": _time(at_us), "path": draw(_path_change(path, rate_kbps, lossy=True))}
        for at_us in sorted(draw(st.lists(st.integers(1, duration_us - 1), max_size=4, unique=True)))
    ]
    return draw(_whole("links", path, flows, schedule, duration_us, kernel))


@st.composite
def _shapers(draw: st.DrawFn, rate_kbps: int, mtu: int) -> Written:
    """A bucket of a frame to what the line carries in a second, with a peak just above the rate to a thousand times it."""
    least, frame = mtu + 14, draw(st.integers(0, 3))
    burst = draw(st.sampled_from([least + frame, 2 * least, draw(_log_integers(least, max(least, rate_kbps * 125)))]))
    shaper: Written = {"burst": f"{burst} B"}
    if draw(st.booleans()):
        peak_kbps = rate_kbps * draw(st.sampled_from([1001, 1100, 2000, 3333, 10_000, 1_000_000])) // 1000 + 1
        shaper["peak"] = format_rate(min(peak_kbps, 10**8) * 1000)
    return shaper


@st.composite
def _link_traffic(draw: st.DrawFn, name: str, rate_kbps: int) -> Written:
    """Packets at a part or a multiple of the line's rate, at one interval or in bursts."""
    share = draw(st.sampled_from([50, 90, 100, 100, 101, 150, 400]))
    rate = format_rate(max(8, rate_kbps * share // 100) * 1000)
    if draw(st.booleans()):
        return {"name": name, "udp": rate}
    times = st.sampled_from(["1 ms", "10 ms", "100 ms", "1 s"])
    return {"name": name, "on_off": {"rate": rate, "on": draw(times), "off": draw(times)}}
