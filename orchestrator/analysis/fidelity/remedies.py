"""Which field of the experiment to change where a check of fidelity broke: the hint of the error that refuses the run.

Of most checks no field is at fault: what the lab set is not what it found, or a sum does not come out. Those say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.tcp_settings import MOST_BUFFER_BYTES
from longhaul.orchestrator.spec.iperf3 import IPERF3

# What was found by a check that broke, and what may be changed.
Remedy = Callable[[Run, str], str]

_OURS = "no field of the experiment is at fault: please report it with the experiment"
_TIME = "path.bandwidth or count of the flows: with less of either this machine has time to spare by the real clock; virtual time (--backend sandbox) needs none"


def _ours(run: Run, found: str) -> str:
    if own := [module.name for module in run.modules if module.source]:
        return f"modules: see whether it holds without {', '.join(own)}, whose code may do anything in its guest"
    return _OURS


def _by_the_real_clock(run: Run, found: str) -> str:
    return _TIME if run.clock == "real" and not run.hosts else _ours(run, found)


def _flow(run: Run, found: str) -> str:
    return f"tool: lh-flow makes the same traffic without {IPERF3}" if _uses_iperf3(run) else _ours(run, found)


def _control(run: Run, found: str) -> str:
    return "cc of the flow: another one; dctcp also needs ecn: on"


def _ecn(run: Run, found: str) -> str:
    return "ecn of the flow, or path.ecn for all: what was found instead"


def _elsewhere(run: Run, found: str) -> str:
    if "udp_rcvbuf_errors" in found:
        return "udp or on_off.rate of the flow: a lower rate, which its receiver can read"
    return _by_the_real_clock(run, found)


def _window(run: Run, found: str) -> str:
    return "window of the flow: another size, or none"


def _iperf3(run: Run, found: str) -> str:
    return f"tool: lh-flow makes the same traffic without {IPERF3}"


def _buffers(run: Run, found: str) -> str:
    named = "window of the flow: what it may have on its way at most is a limit with a name, and is not judged here"
    if run.hosts:
        return f"{named}; without it net.ipv4.tcp_rmem and tcp_wmem of the hosts, which their operator sets"
    if _largest_buffers(run):
        return f"path.bandwidth, path.rtt or path.buffer: with less of them the path holds less than TCP's largest socket buffers, 2 GB; {named}"
    return f"path.buffer: socket buffers are eight times what the path and its buffer hold, so a larger one makes them larger; {named}"


def _unnamed(run: Run, found: str) -> str:
    sampled = "sample: every-ack tells what held a sender at every ACK; " if run.trace.ack_us else ""
    return f"{sampled}window of the flow: below what it had on its way it is a limit with a name; path.bandwidth, path.rtt or path.buffer: with less of them the path holds less"


def _host(run: Run, found: str) -> str:
    return "count of the flows: fewer of them, or hosts with more time to spare"


def _clock(run: Run, found: str) -> str:
    return "no field of the experiment mends a clock: see what disciplines that of the host"


def _route(run: Run, found: str) -> str:
    return "--hosts: another middle box, or routes through this one"


REMEDIES: Mapping[str, Remedy] = {
    "trace complete": _ours,
    "cpu budget": _by_the_real_clock,
    "flow": _flow,
    "congestion control in use": _control,
    "ECN as asked": _ecn,
    "scheduled changes": _by_the_real_clock,
    "sysctls": _ours,
    "devices as asked": _ours,
    "no frame above the MTU": _ours,
    "bottleneck rate": _by_the_real_clock,
    "base RTT": _by_the_real_clock,
    "air time": _ours,
    "queue limit": _ours,
    "random loss": _ours,
    "conservation": _by_the_real_clock,
    "no drop elsewhere": _elsewhere,
    "window": _window,
    "iperf3 agrees": _iperf3,
    "not limited by buffers": _buffers,
    "limits have names": _unnamed,
    # On real hosts.
    "host kept up": _host,
    "within its cap": _ours,
    "clocks": _clock,
    "emulated path": _route,
}


def what_to_change(run: Run, broken: Iterable[tuple[str, str]]) -> str:
    """What to do about checks that broke, given their names and what they found: a sentence each, none twice."""
    told = dict.fromkeys(REMEDIES.get(name, _ours)(run, found) for name, found in broken)
    # Where something can be changed, that comes first.
    return "; ".join(sorted(told, key=lambda line: line == _OURS))


def _uses_iperf3(run: Run) -> bool:
    return any(flow.tool == IPERF3 for flow in run.flows)


def _largest_buffers(run: Run) -> bool:
    """Whether the kernel's largest socket buffers are less than the path asks for."""
    sizes = (
        value.split()[-1]
        for node in run.nodes
        for name, value in node.sysctls
        if name in ("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem")
    )
    return any(int(size) >= MOST_BUFFER_BYTES for size in sizes)
