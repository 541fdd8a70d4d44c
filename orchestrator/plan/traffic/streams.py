"""Flows that belong together, and streams that share one transfer: each takes the next block of it when it has sent the one before.

The numbers of the transfer, its size and its end, are those of its group; a stream knows what it sent when the run has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.plan.meaning import Group

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.run import Flow, Run
    from longhaul.orchestrator.spec.model import Flow as WrittenFlow

# Less than a sender has ready beyond its window on any path (tcp_settings.py), so that all streams end at about the same time.
_BLOCK_BYTES = 65_536


def fields_of_stream(written: WrittenFlow, head: str) -> dict[str, Any]:
    """The fields of a Flow that is one of several streams."""
    if written.streams == 1:
        return {}
    return {"group": Group(head, written.streams), "block_bytes": _BLOCK_BYTES}


def groups_of(run: Run) -> Iterator[tuple[Group, list[Flow]]]:
    """The groups of a run, each with its flows."""
    found: dict[Group, list[Flow]] = {}
    for flow in run.flows:
        if flow.group is not None:
            found.setdefault(flow.group, []).append(flow)
    yield from found.items()
