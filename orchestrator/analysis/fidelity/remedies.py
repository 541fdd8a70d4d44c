"""The field of the experiment to change after a failed fidelity check: the hint of the error that refuses the run.

For most checks no field is at fault: a setting reads back differently, or counters do not add up. Their remedy states that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.tcp_settings import MOST_BUFFER_BYTES
from longhaul.orchestrator.spec.iperf3 import IPERF3

# The found value of a failed check -> the field to change.
Remedy = Callable[[Run, str], str]

_NO_FIELD = "no field of the experiment is at fault: please report it with the experiment"
_TIME = "path.bandwidth or count of the flows: with less of either this machine keeps up in real time; virtual time (--backend sandbox) needs no spare capacity"


def _no_field(run: Run, found: str) -> str:
    if own := [module.replaces or module.name for module in run.modules if module.source]:
        return f"modules: check whether it holds without {', '.join(own)}, whose code may change anything in its guest"
    return _NO_FIELD


def _real_time(run: Run, found: str) -> str:
    return _TIME if run.clock == "real" and not run.hosts else _no_field(run, found)


def _flow(run: Run, found: str) -> str:
    return f"tool: lh-flow generates the same traffic without {IPERF3}" if _uses_iperf3(run) else _no_field(run, found)


def _control(run: Run, found: str) -> str:
    return "cc of the flow: another one; dctcp also needs ecn: on"


def _ecn(run: Run, found: str) -> str:
    return "ecn of the flow, or path.ecn for all: set it to the found value"


def _receiver_drops(run: Run, found: str) -> str:
    if "udp_rcvbuf_errors" in found:
        return "udp or on_off.rate of the flow: a lower rate, at which its receiver can read"
    return _real_time(run, found)


def _window(run: Run, found: str) -> str:
    return "window of the flow: another size, or none"


def _iperf3(run: Run, found: str) -> str:
    return f"tool: lh-flow generates the same traffic without {IPERF3}"


def _buffers(run: Run, found: str) -> str:
    named = "window of the flow: a cap on the bytes in flight is a named limit, which this check does not count"
    if run.hosts:
        return f"{named}; without it net.ipv4.tcp_rmem and tcp_wmem of the hosts, which their operator sets"
    if _largest_buffers(run):
        return f"path.bandwidth, path.rtt or path.buffer: lower values make the bytes on the path fewer than TCP's largest socket buffers, 2 GB; {named}"
    return f"path.buffer: socket buffers are eight times the capacity of the path and its buffer, so a larger buffer makes them larger; {named}"


def _unnamed(run: Run, found: str) -> str:
    sampled = "sample: every-ack records the sender's limit at every ACK; " if run.trace.ack_us else ""
    return f"{sampled}window of the flow: a cap below its bytes in flight is a named limit; path.bandwidth, path.rtt or path.buffer: lower values make the path hold less"


def _host(run: Run, found: str) -> str:
    return "count of the flows: fewer of them, or hosts with more spare capacity"


def _clock(run: Run, found: str) -> str:
    return "no field of the experiment corrects a clock: check the host's time synchronisation"


def _route(run: Run, found: str) -> str:
    return "--hosts: another middle box, or routes through this one"


REMEDIES: Mapping[str, Remedy] = {
    "trace complete": _no_field,
    "cpu budget": _real_time,
    "flow": _flow,
    "congestion control in use": _control,
    "ECN as asked": _ecn,
    "scheduled changes": _real_time,
    "sysctls": _no_field,
    "devices as asked": _no_field,
    "no frame above the MTU": _no_field,
    "bottleneck rate": _real_time,
    "recorded line": _real_time,
    "policer": _no_field,
    "base RTT": _real_time,
    "air time": _no_field,
    "queue limit": _no_field,
    "random loss": _no_field,
    "conservation": _real_time,
    "no drop elsewhere": _receiver_drops,
    "window": _window,
    "two queues": _no_field,
    "ECT as asked": _no_field,
    "marks": _no_field,
    "iperf3 agrees": _iperf3,
    "bytes of programs": _no_field,
    "bytes of streams": _no_field,
    "requests of both ends": _no_field,
    "rounds of a barrier": _no_field,
    "DSCP as asked": _no_field,
    "not limited by buffers": _buffers,
    "limits have names": _unnamed,
    # On real hosts.
    "host kept up": _host,
    "within its cap": _no_field,
    "clocks": _clock,
    "emulated path": _route,
}


def what_to_change(run: Run, broken: Iterable[tuple[str, str]]) -> str:
    """Remedies of failed checks, given their names and found values: a sentence each, none twice."""
    remedies = dict.fromkeys(REMEDIES.get(name, _no_field)(run, found) for name, found in broken)
    # Fields to change come first.
    return "; ".join(sorted(remedies, key=lambda line: line == _NO_FIELD))


def _uses_iperf3(run: Run) -> bool:
    return any(flow.tool == IPERF3 for flow in run.flows)


def _largest_buffers(run: Run) -> bool:
    """Whether the kernel's largest socket buffers are smaller than the path needs."""
    sizes = (
        value.split()[-1]
        for node in run.nodes
        for name, value in node.sysctls
        if name in ("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem")
    )
    return any(int(size) >= MOST_BUFFER_BYTES for size in sizes)
