"""iperf3 as the tool of a flow: its limits, and the size of its blocks.

It makes TCP flows that send all the time, or whole blocks up to a size. Its client sets the congestion control on an established
connection, so it cannot use a control that takes part in the handshake.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhaul.orchestrator.spec.congestion_controls import CongestionControl
from longhaul.orchestrator.spec.model import Flow
from longhaul.orchestrator.system.units import parse_size

IPERF3 = "iperf3"

# Each has two processes in the guest, each of which is a process of this machine too.
MOST_FLOWS = 50

# iperf3's largest block is 1 MiB. A smaller one than this takes too many system calls to fill a path.
LARGEST_BLOCK_BYTES = 1_000_000
_SMALLEST_BLOCK_BYTES = 16_384


def refusals(flow: Flow, control: CongestionControl | None) -> Iterator[tuple[str, object, str]]:
    """(field, value, what is allowed) for each field of the flow that iperf3 does not support."""
    if flow.traffic:
        yield (
            "tool",
            flow.tool,
            f"lh-flow for {flow.traffic[0]}: iperf3 makes TCP flows that send all the time or up to a size",
        )
    if flow.window is not None:
        yield "window", flow.window, "only with tool lh-flow: iperf3 can set buffers, and those of both ends at once"
    if control is not None and control.both_ends:
        yield (
            "cc",
            flow.cc,
            f"with tool iperf3, a control of the sender alone: {control.name} takes part in the handshake, and iperf3 sets it later",
        )
    if flow.size is not None and block_bytes(parse_size(flow.size)) is None:
        yield (
            "size",
            flow.size,
            f"with tool iperf3, a whole number of blocks of {_SMALLEST_BLOCK_BYTES} to {LARGEST_BLOCK_BYTES} bytes: iperf3 sends whole blocks",
        )


def block_bytes(size_bytes: int | None) -> int | None:
    """The largest block of which a size is a multiple; None if no block is large enough."""
    if size_bytes is None:
        return LARGEST_BLOCK_BYTES
    if size_bytes <= LARGEST_BLOCK_BYTES:
        return size_bytes
    blocks = range(LARGEST_BLOCK_BYTES, _SMALLEST_BLOCK_BYTES - 1, -1)
    return next((block for block in blocks if size_bytes % block == 0), None)
