"""Flows whose traffic a program makes: iperf3, which the agent operates, and programs of a `command`, which know nothing of the laboratory.

A flow of a command has one pair of programs. Each of its connections at once is a flow of the plan: the first one has the words of
the programs, the others its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.plan.meaning import Programs
from longhaul.orchestrator.spec.iperf3 import IPERF3, block_bytes
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import parse_size

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.run import Flow
    from longhaul.orchestrator.plan.target import Venue
    from longhaul.orchestrator.spec.model import Experiment
    from longhaul.orchestrator.spec.model import Flow as WrittenFlow

FIRST_PORT = 10_000
# Below the ports that the kernel chooses by itself.
_FIRST_CLIENT_PORT = 20_000


def fields_of_program(written: WrittenFlow, flow: Flow, addresses: Mapping[str, str], place: int) -> dict[str, Any]:
    """The fields of a Flow that only its program has; `place` is its own among the flows of its entry, `addresses` are those of hosts."""
    if written.command is not None:
        return {"first": flow.id - place} if place else {"program": _programs(written, flow, addresses)}
    if written.tool != IPERF3:
        return {}
    return {
        "tool": IPERF3,
        # It distinguishes iperf3's data from its control connection.
        "client_port": flow.port - FIRST_PORT + _FIRST_CLIENT_PORT,
        "block_bytes": block_bytes(flow.bytes),
    }


def _programs(written: WrittenFlow, flow: Flow, addresses: Mapping[str, str]) -> Programs:
    command = written.command
    assert command is not None
    server_sends = command.sends == "server"
    server, client = (flow.from_node, flow.to_node) if server_sends else (flow.to_node, flow.from_node)
    return Programs(
        tuple(command.server),
        tuple(command.client),
        server_sends,
        command.connections,
        addresses[server],
        addresses[client],
        command.folder or "",
    )


def controls_of_programs(experiment: Experiment) -> list[str]:
    """The congestion controls of programs, in the order in which all flows name theirs."""
    named = dict.fromkeys(experiment.control(flow.cc).name for flow in experiment.flows if flow.kind != "udp")
    used = {experiment.control(flow.cc).name for flow in experiment.flows if flow.command is not None and flow.count}
    return [name for name in named if name in used]


def programs_bytes(experiment: Experiment) -> int:
    """The memory of the guest that its programs may use."""
    return sum(parse_size(flow.command.memory) for flow in experiment.flows if flow.command is not None and flow.count)


def programs_note(names: Sequence[str]) -> str:
    """What a reader must know of the flows of programs with these names; "" without any."""
    if not names:
        return ""
    return f"computing takes no virtual time: the programs of {', '.join(names)} are as fast as a processor without limits, and only what they wait for and the path take time"


def refuse_programs(experiment: Experiment, venue: Venue) -> None:
    """PlanError for a flow with a command in another place than the sandbox."""
    for flow in experiment.flows:
        if flow.command is not None and venue.backend != "sandbox":
            what = f"its connections are followed inside the guest of the sandbox, in virtual time, and this run is on {venue.backend}"
            raise PlanError("compiling", f"flows.{flow.name}.command", what, "use --backend sandbox, or tool: iperf3")
