"""The queues that the trace of a run follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from longhaul.orchestrator.plan.qdiscs import LINK, QUEUE, RATE
from longhaul.orchestrator.plan.run import Link
from longhaul.orchestrator.spec.graph import Lane

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.link_parameters import Path
    from longhaul.orchestrator.plan.network import Network
    from longhaul.orchestrator.plan.qdisc_layout import Layout
    from longhaul.orchestrator.plan.recordings import Offered

# As many as the probe follows.
MOST_FOLLOWED = 64


def followed_links(path: Path, layout: Layout, network: Network, offered: Mapping[Lane, Offered]) -> tuple[Link, ...]:
    """The queues that the trace follows: the bottlenecks' first, then those of other lanes with a rate that flows use."""
    state = path.states[0]
    backward = [(y, x) for x, y in path.bottlenecks]
    known = dict.fromkeys(lane for lane in (*path.bottlenecks, *backward, *layout.rates) if lane in layout.rates)
    single = {path.bottlenecks[0]: "bottleneck", backward[0]: "reverse"} if len(path.bottlenecks) == 1 else {}
    links: list[Link] = []
    for lane in list(known)[:MOST_FOLLOWED]:
        numbers, place = state.lanes[lane], layout.rates[lane]
        assert numbers.rate_bps is not None and numbers.buffer is not None
        links.append(
            Link(
                len(links),
                single.get(lane, "-".join(lane)),
                place[0],
                network.devices[place],
                RATE if numbers.medium is not None or layout.devices[place][0][0].kind == LINK else QUEUE,
                numbers.rate_bps,
                numbers.impairment.delay_us,
                numbers.buffer.packets,
                numbers.buffer.size_bytes,
                *offered.get(lane, ()),
            )
        )
    return tuple(links)
