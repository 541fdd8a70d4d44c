"""Merge the counters of several endpoints into the run's facts.json (docs/run-directory.md): each from the host that measured it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhaul.orchestrator.plan.run import Run

Facts = dict[str, Any]

# Facts that only the receiver of a flow has.
_RECEIVERS = ("bytes_received", "packets_received", "completed_us")
_LONGEST_KERNEL = 64


def merge_facts(run: Run, endpoint_facts: Mapping[str, Facts], records: int, more: Mapping[str, Any]) -> Facts:
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


def _flow(sent: Facts, received: Facts) -> Facts:
    return {
        **sent,
        **{name: received[name] for name in _RECEIVERS},
        "error": sent["error"] or received["error"],
    }
