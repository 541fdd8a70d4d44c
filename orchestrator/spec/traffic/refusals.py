"""What programs, requests, parallel streams and a DSCP do not allow in the other fields of their flow."""

from __future__ import annotations

from collections.abc import Iterator

from longhaul.orchestrator.spec.congestion_controls import CongestionControl, pacing_bps
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.spec.model import Experiment, Flow
from longhaul.orchestrator.spec.sections.flow_parts import Requests, SocketOption
from longhaul.orchestrator.spec.socket_options import option_number
from longhaul.orchestrator.system.units import parse_size

# The field, its value, and what is allowed.
Refusal = tuple[str, object, str]

# A number, and the largest payload of UDP.
_LEAST_PING_BYTES, _MOST_PING_BYTES = 8, 65_507
# The level and the number of IP_TOS.
_IP_TOS = (0, 1)
# Fields that programs decide themselves.
_OF_PROGRAMS = {
    "size": "no value: the client decides how much it transfers",
    "window": "no value: programs set their own windows",
    "sockopts": "no value: programs set the options of their own sockets",
    "spread": "no value: a flow of programs is one pair of them",
}


def refusals_of_programs(experiment: Experiment, flow: Flow, control: CongestionControl | None) -> Iterator[Refusal]:
    """(field, value, what is allowed) for each field of the flow that does not go together with programs."""
    assert flow.command is not None
    for name in flow.traffic:
        yield name, None, f"command and {name} exclude each other"
    for name, allowed in _OF_PROGRAMS.items():
        if getattr(flow, name):
            yield name, None, f"{allowed} (command)"
    if flow.count > 1:
        yield (
            "count",
            flow.count,
            "1 or 0 with command: each pair of programs has ports of its own, so write an entry for each",
        )
    if flow.tool != "lh-flow":
        yield "tool", flow.tool, "no value with command, which names the programs"
    if control is not None and control.both_ends:
        allowed = (
            f"with command, a control of the sender alone: {control.name} takes part in the handshake of both hosts"
        )
        yield "cc", flow.cc, allowed
    if control is not None and pacing_bps(control, flow.params):
        yield (
            "params",
            None,
            "with command, none that is an option of the socket, as a rate: programs have their own sockets",
        )
    if flow.command.folder is not None and not flow.command.folder.startswith("/"):
        yield "command", flow.command.folder, "an absolute path of the folder, where a sweep names it"
    if experiment.modules:
        yield (
            "command",
            None,
            "only without user-supplied `modules`: their guest is confined and sees no files of this machine, so programs would lack theirs",
        )


def refusals_of_streams(flow: Flow) -> Iterator[Refusal]:
    """The same for each field that does not go together with several streams of one transfer."""
    if flow.kind != "tcp":
        others = "command" if flow.command is not None else " and ".join(flow.traffic)
        yield "streams", flow.streams, f"1 with {others}: several streams share the size of a TCP flow"
        return
    if flow.size is None:
        yield "streams", flow.streams, "1 without a size, which is what streams share; count makes independent flows"
    if flow.tool == IPERF3:
        yield "streams", flow.streams, "1 with tool iperf3, whose streams each have a size of their own"


def refusals_of_dscp(flow: Flow) -> Iterator[Refusal]:
    """The same for a class of packets, which lh-flow sets on its sockets."""
    if flow.command is not None:
        yield "dscp", flow.dscp, "no value with command: programs set the options of their own sockets"
    elif flow.tool == IPERF3:
        yield "dscp", flow.dscp, "only with tool lh-flow, which sets it at both ends"
    if any(option_number(one.level, one.name) == _IP_TOS for one in flow.sockopts if _is_known(one)):
        yield "dscp", flow.dscp, "no value with IP_TOS among the sockopts, which sets the same field"


def _is_known(option: SocketOption) -> bool:
    """Whether an option has numbers; rules.py reports it otherwise."""
    try:
        option_number(option.level, option.name)
    except ValueError:
        return False
    return True


def refusals_of_requests(flow: Flow) -> Iterator[Refusal]:
    """The same for requests and responses."""
    assert flow.requests is not None
    if flow.size is not None:
        yield "size", flow.size, "not with requests, which have sizes of their own"
    if flow.window is not None:
        yield (
            "window",
            flow.window,
            "not with requests: only the receiver of a bulk transfer can hold its sender to a window",
        )
    yield from _of_transport(flow.requests)
    if flow.requests.think is not None and flow.requests.every is not None:
        yield "requests", None, "think and every exclude each other"


def _of_transport(asked: Requests) -> Iterator[Refusal]:
    """What each transport of requests does not allow."""
    if asked.over == "tcp":
        if asked.timeout is not None:
            yield "requests", asked.timeout, "timeout only over udp: TCP sends again what is lost"
        return
    if asked.new_connection:
        yield "requests", None, "new_connection only over tcp"
    if asked.barrier:
        yield (
            "requests",
            None,
            "barrier only over tcp: a round ends with all of its responses, and a ping may have none",
        )
    for written in filter(None, (asked.request, asked.response)):
        if not _LEAST_PING_BYTES <= parse_size(written) <= _MOST_PING_BYTES:
            allowed = f"over udp a request or a response of {_LEAST_PING_BYTES} to {_MOST_PING_BYTES} bytes"
            yield "requests", written, f"{allowed}: it is one packet, which begins with its number"
