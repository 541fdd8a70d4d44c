"""What several endpoints counted -> facts.json of the run (docs/run-directory.md): of each thing, the word of whoever saw it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhaul.orchestrator.plan.run import Run

Facts = dict[str, Any]

# What only the receiver of a flow knows.
_RECEIVERS = ("bytes_received", "packets_received", "completed_us")
_LONGEST_KERNEL = 64


def merge_facts(run: Run, told: Mapping[str, Facts], records: int, more: Mapping[str, Any]) -> Facts:
    """The facts of a run from those of its endpoints; `more` is what the controller found out about each."""
    flows = {host.node: {fact["id"]: fact for fact in told[host.node]["flows"]} for host in run.hosts}
    any_facts = told[run.hosts[0].node]
    kernels = dict.fromkeys(told[host.node]["kernel"] for host in run.hosts)
    return {
        "format": any_facts["format"],
        "kernel": ", ".join(kernels)[:_LONGEST_KERNEL],
        "agent": any_facts["agent"],
        "epoch_ns": any_facts["epoch_ns"],
        "end_us": any_facts["end_us"],
        "nodes": [{"name": host.node, "sysctls": []} for host in run.hosts],
        "devices": [],
        "flows": [_flow(flows[flow.from_node][flow.id], flows[flow.to_node][flow.id]) for flow in run.flows],
        "nodes_snmp": [one for host in run.hosts for one in told[host.node]["nodes_snmp"] if one["node"] == host.node],
        "links": [],
        "machine": None,
        "endpoints": [
            {
                "name": host.node,
                "kernel": told[host.node]["kernel"],
                "machine": told[host.node]["machine"],
                "machine_sysctls": told[host.node]["machine_sysctls"],
                "governor": told[host.node].get("governor"),
                **more[host.node],
            }
            for host in run.hosts
        ],
        "trace": {
            "records": sum(told[host.node]["trace"]["records"] for host in run.hosts),
            "bytes": sum(told[host.node]["trace"]["bytes"] for host in run.hosts),
            "merged": records,
        },
    }


def _flow(sent: Facts, received: Facts) -> Facts:
    return {
        **sent,
        **{name: received[name] for name in _RECEIVERS},
        "error": sent["error"] or received["error"],
    }
