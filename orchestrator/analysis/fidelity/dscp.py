"""The check of flows with a DSCP: the sockets of both ends have it, read back when their connection ended or the run did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.sections.flow_parts import dscp_text

# Name, whether it holds, the found value.
Verdict = tuple[str, bool, str]


def judge_dscp(run: Run, facts: dict[str, Any]) -> Iterator[Verdict]:
    """A verdict for each flow with a DSCP that had a connection; a receiver that no byte reached may have had none."""
    for flow, fact in zip(run.flows, facts["flows"], strict=True):
        asked = flow.options.dscp
        if not asked or fact["connected_us"] is None:
            continue
        found = [fact["dscp_sent"], *([fact["dscp_received"]] if fact["bytes_received"] else [])]
        text = f"{flow.name}: asked {dscp_text(asked)}, found {' and '.join(map(dscp_text, found))}"
        yield "DSCP as asked", all(one == asked for one in found), text
