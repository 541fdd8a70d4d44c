"""Where a run exceeds the operator's host policy, in sentences: checked when it is planned, and again when it runs.

The agents on the hosts enforce the same limits; this check reports all violations early and at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhaul.orchestrator.plan.placed.host import PlacedHost
from longhaul.orchestrator.plan.run import Flow, MiddleBox, Run
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.host_policy import Policy, yielding
from longhaul.orchestrator.system.units import format_duration, format_rate, format_size


def not_allowed(policy: Policy, run: Run) -> Iterator[str]:
    """One sentence for each violation; PlanError for an unknown host."""
    for host in run.hosts:
        allowed = policy.host(host.node)
        if (host.address, host.device) != (allowed.traffic.address, allowed.traffic.device):
            yield f"{host.node} has test traffic on {allowed.traffic.device} {allowed.traffic.address} alone"
        if run.duration_us > allowed.longest_us:
            yield f"{format_duration(run.duration_us)} are longer than the {format_duration(allowed.longest_us)} of a run on {host.node}"
        yield from _rates(policy, run, host)
        yield from _volumes(policy, run, host)
    for flow in run.flows:
        yield from _flow(policy, run, flow)
    if run.box:
        yield from _box(policy, run, run.box)
    yield from _lab(policy, run)


def asked_bps(run: Run, flow: Flow) -> int:
    """The most that a flow requests, in frames; 0 if it has no rate."""
    if flow.kind == "udp":
        return flow.rate_bps
    most = max(bps for _, _, bps in run.pacing_rates(flow))
    return most * run.meaning.frame_bytes // run.meaning.mss_bytes


def _sent_by(run: Run, host: PlacedHost) -> list[Flow]:
    return [flow for flow in run.flows if flow.from_node == host.node]


def _rates(policy: Policy, run: Run, host: PlacedHost) -> Iterator[str]:
    cap_bps = policy.host(host.node).rate_bps
    asked = [asked_bps(run, flow) for flow in _sent_by(run, host)]
    if sum(asked) > cap_bps or (sum(asked) == cap_bps and 0 in asked):
        yield f"flows from {host.node} ask for {format_rate(sum(asked))}, headers included; {format_rate(cap_bps)} are allowed"


def _volumes(policy: Policy, run: Run, host: PlacedHost) -> Iterator[str]:
    allowed = policy.host(host.node)
    sizes = sum(flow.share_bytes or 0 for flow in _sent_by(run, host))
    if sizes > allowed.run_bytes:
        yield f"flows from {host.node} are {format_size(sizes)}; a run may send {format_size(allowed.run_bytes)}"


def _flow(policy: Policy, run: Run, flow: Flow) -> Iterator[str]:
    first, last = policy.host(flow.to_node).ports
    if not first <= flow.port <= last:
        yield f"{flow.name}: port {flow.port} of {flow.to_node} is not one of {first} to {last}"
    if flow.address != policy.host(flow.to_node).traffic.address:
        yield f"{flow.name}: {flow.address} is not the address of {flow.to_node}"
    path = policy.path(flow.from_node, flow.to_node)
    if path is None:
        yield f"{flow.name}: no traffic is allowed between {flow.from_node} and {flow.to_node}"
    elif not path.provisioned:
        controls = [flow.cc, *(change.cc for change in run.changes_of(flow))]
        known = yielding()
        for control in dict.fromkeys(one for one in controls if one and one not in known):
            name = control if control in CONGESTION_CONTROLS else f"the control {control}"
            yield f"{flow.name}: {name} does not give way to other flows, and the path from {flow.from_node} to {flow.to_node} is not provisioned"
        if flow.kind == "udp":
            yield f"{flow.name}: UDP does not give way to other flows, and the path from {flow.from_node} to {flow.to_node} is not provisioned"


def _box(policy: Policy, run: Run, box: MiddleBox) -> Iterator[str]:
    allowed = policy.host(box.host.node)
    if run.duration_us > allowed.longest_us:
        yield f"{format_duration(run.duration_us)} are longer than the {format_duration(allowed.longest_us)} of a run on {box.host.node}"
    for end in box.ends:
        if end.dev not in allowed.emulates.values():
            yield f"the policy allows no emulation on {end.dev} of {box.host.node}"


def _lab(policy: Policy, run: Run) -> Iterator[str]:
    """All hosts of a run together; leases keep other runs off them, not off other hosts."""
    if policy.rate_bps is None:
        return
    caps = {host.node: policy.host(host.node).rate_bps for host in run.hosts if _sent_by(run, host)}
    if (most := sum(caps.values())) > policy.rate_bps:
        yield f"{', '.join(caps)} may send {format_rate(most)} together; the lab may send {format_rate(policy.rate_bps)}"
