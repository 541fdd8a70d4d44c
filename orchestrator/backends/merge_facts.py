"""Merge the counters of several agents into the run's facts.json (docs/run-directory.md): each from the one that measured it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES

Facts = dict[str, Any]

# Facts that only the receiver of a flow has; the last four only of flows with a DSCP, requests or a barrier.
_RECEIVERS = (
    "bytes_received",
    "packets_received",
    "completed_us",
    "marks_received",
    "window_clamp_bytes",
    "dscp_received",
    "requests_sent",
    "requests_completed",
    "rounds_completed",
)
_LONGEST_KERNEL = 64


def merge_host_facts(run: Run, endpoint_facts: Mapping[str, Facts], records: int, more: Mapping[str, Any]) -> Facts:
    """The facts of a run from those of its endpoints; `more` is the controller's own facts about each."""
    flows = {host.node: {fact["id"]: fact for fact in endpoint_facts[host.node]["flows"]} for host in run.hosts}
    any_facts = endpoint_facts[run.hosts[0].node]
    kernels = dict.fromkeys(endpoint_facts[host.node]["kernel"] for host in run.hosts)
    return {
        "format": any_facts["format"],
        "kernel": ", ".join(kernels)[:_LONGEST_KERNEL],
        "agent": any_facts["agent"],
        "epoch_ns": any_facts["epoch_ns"],
        "end_us": any_facts["end_us"],
        "nodes": [{"name": host.node, "sysctls": []} for host in run.hosts],
        "devices": [],
        "flows": [_flow(flows[flow.from_node][flow.id], flows[flow.to_node][flow.id]) for flow in run.flows],
        "nodes_snmp": [
            one for host in run.hosts for one in endpoint_facts[host.node]["nodes_snmp"] if one["node"] == host.node
        ],
        "links": [],
        "machine": None,
        "endpoints": [
            {
                "name": host.node,
                "kernel": endpoint_facts[host.node]["kernel"],
                "machine": endpoint_facts[host.node]["machine"],
                "machine_sysctls": endpoint_facts[host.node]["machine_sysctls"],
                "governor": endpoint_facts[host.node].get("governor"),
                **more[host.node],
            }
            for host in run.hosts
        ],
        "trace": {
            "records": sum(endpoint_facts[host.node]["trace"]["records"] for host in run.hosts),
            "bytes": sum(endpoint_facts[host.node]["trace"]["bytes"] for host in run.hosts),
            "merged": records,
        },
    }


def merge_part_facts(run: Run, nodes: Sequence[frozenset[str]], facts: Sequence[Facts], repeated: int) -> Facts:
    """The facts of a run in parts, as one guest would have them; `nodes` are those of each part, `repeated` counts events that several saw."""
    of = {name: facts[part] for part, names in enumerate(nodes) for name in names}
    flows = {name: {fact["id"]: fact for fact in one["flows"]} for name, one in of.items()}
    by_name = {one["name"]: one for part in facts for one in part["nodes"]}
    snmp = {one["node"]: one for part in facts for one in part["nodes_snmp"]}
    devices = {one["dev"]: one for part in facts for one in part["devices"]}
    links = {one["id"]: one for part in facts for one in part["links"]}
    kernels = dict.fromkeys(part["kernel"] for part in facts)
    records = sum(part["trace"]["records"] for part in facts) - repeated
    return {
        **facts[0],
        "kernel": ", ".join(kernels)[:_LONGEST_KERNEL],
        "nodes": [by_name[node.name] for node in run.nodes],
        "devices": [devices[end.dev] for end in run.ends],
        "flows": [_flow(flows[flow.from_node][flow.id], flows[flow.to_node][flow.id]) for flow in run.flows],
        "nodes_snmp": [snmp[node.name] for node in run.nodes if node.name in snmp],
        "links": [links[link.id] for link in run.links],
        "trace": {"records": records, "bytes": HEADER_BYTES + RECORD_BYTES * records},
    }


def _flow(sent: Facts, received: Facts) -> Facts:
    return {
        **sent,
        **{name: received[name] for name in _RECEIVERS if name in received},
        "error": sent["error"] or received["error"],
    }
