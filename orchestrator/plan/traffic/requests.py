"""Requests and responses in numbers: the flow's receiver is the client, which connects to the flow's sender."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.plan.meaning import Group, Requests
from longhaul.orchestrator.plan.traffic.senders import Fetched
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import parse_duration, parse_size

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.run import Flow, Run
    from longhaul.orchestrator.plan.target import Venue
    from longhaul.orchestrator.spec.model import Experiment
    from longhaul.orchestrator.spec.model import Flow as WrittenFlow

_INITIAL_WINDOW = 10
# Of requests without these fields.
_RESPONSE, _TIMEOUT = "10 KB", "1 s"


def fields_of_requests(written: WrittenFlow, flow: Flow, head: str, addresses: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a Flow of requests: its port is the server's, so its address is the sender's."""
    asked = written.requests
    if asked is None:
        return {}
    numbers = Requests(
        parse_size(asked.request),
        parse_size(asked.response or (asked.request if asked.over == "udp" else _RESPONSE)),
        0 if asked.think is None else parse_duration(asked.think),
        0 if asked.every is None else parse_duration(asked.every),
        asked.count,
        asked.new_connection,
        parse_duration(asked.timeout or _TIMEOUT) if asked.over == "udp" else 0,
        asked.barrier,
    )
    group = {"group": Group(head, asked.connections)} if asked.connections > 1 else {}
    return {"requests": numbers, "address": addresses[flow.from_node], **group}


def refuse_requests(experiment: Experiment, venue: Venue) -> None:
    """PlanError for a flow of requests in real time, where a trace does not follow its sockets."""
    for flow in experiment.flows:
        if flow.requests is not None and venue.clock != "virtual":
            where = "on physical hosts" if venue.hosts else "in real time"
            what = f"requests are timed by a virtual clock, and this run is {where}"
            hint = "run it in the sandbox, or in Mininet with --clock virtual; web has transfers with pauses everywhere"
            raise PlanError("compiling", f"flows.{flow.name}.requests", what, hint)


def requests_asked(run: Run, flow: Flow, fair: float) -> Fetched:
    """Packets and number of the requests of a client on a path that has room for `fair` packets a second of it."""
    asked = flow.requests
    assert asked is not None
    stop_us = run.duration_us if flow.stop_us is None else min(flow.stop_us, run.duration_us)
    rtt_s, packets = run.meaning.rtt_us / 1e6, math.ceil(asked.response_bytes / run.meaning.mss_bytes)
    if asked.barrier and flow.group is not None:
        # The responses of a round share the path.
        fair /= flow.group.flows
    rounds = math.ceil(math.log2(1 + packets / _INITIAL_WINDOW)) + asked.new_connection
    took_s = max(rounds * rtt_s, rtt_s + packets / fair)
    period_s = max(took_s, asked.every_us / 1e6) if asked.every_us else took_s + asked.think_us / 1e6
    fit = max(0.0, (stop_us - flow.start_us) / 1e6 - rtt_s) / max(period_s, 1e-6)
    number = fit if asked.count is None else min(fit, asked.count)
    return Fetched(number * packets, number)
