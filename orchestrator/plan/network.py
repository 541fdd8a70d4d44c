"""The network of a run: nodes, wires with their devices, addresses; and neighbours and routes, so that no protocol has to find them.

Hosts and switches of the graph and the stages between them become namespaces. Nodes joined by bridges are one network, 10.<network>.0.0/16; a
router has an address in each of its own. The plan contains every neighbour, every next hop and the host behind every port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from longhaul.orchestrator.plan.link_parameters import Path
from longhaul.orchestrator.plan.placement import Journey, Placement
from longhaul.orchestrator.plan.qdisc_layout import Layout, changed_qdiscs
from longhaul.orchestrator.plan.qdiscs import ect1_mark
from longhaul.orchestrator.plan.run import DeviceChange, End, Neighbour, Qdisc, Route, Wire
from longhaul.orchestrator.spec.graph import Lane
from longhaul.orchestrator.spec.sections.path_model import Path as WrittenPath
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_LONGEST_DEVICE = 15
_MOST_NETWORKS = 256
_HOSTS_PER_BYTE = 250


@dataclass(frozen=True, slots=True)
class Network:
    """`devices` has the device that each lane of a wire leaves from, `addresses` each host's first address."""

    nodes: tuple[str, ...]
    bridges: frozenset[str]
    routers: frozenset[str]
    wires: tuple[Wire, ...]
    neighbours: tuple[Neighbour, ...]
    routes: tuple[Route, ...]
    devices: Mapping[Lane, str]
    addresses: Mapping[str, str]


def build_network(placement: Placement, layout: Layout, path: WrittenPath) -> Network:
    """The network, with the qdiscs of the first state of the path."""
    return _Builder(placement, layout, path).network()


class _Builder:
    def __init__(self, placement: Placement, layout: Layout, path: WrittenPath) -> None:
        self._placement, self._layout = placement, layout
        self._mtu, self._offloads = path.mtu, path.offloads
        graph = placement.graph
        self._bridges = graph.switches | set(layout.stages)
        self._nodes = (*(name for name in graph.neighbours), *layout.stages)
        # Each node's lanes along the wires.
        self._lanes: dict[str, list[Lane]] = {name: [] for name in self._nodes}
        for x, y in layout.wires:
            self._lanes[x].append((x, y))
            self._lanes[y].append((y, x))
        self._names = _device_names(self._lanes)
        self._macs = _macs(layout.wires)
        self._networks = list(self._find_networks())
        self._remarked = {
            layout.hops[journey.forward[0]][0]
            for journey in placement.journeys
            if placement.options[journey.sender].ect1
        }
        self._addresses = self._give_addresses()

    def network(self) -> Network:
        graph = self._placement.graph
        firsts = {
            name: self._addresses[self._lanes[name][0]].partition("/")[0] for name in graph.hosts if self._lanes[name]
        }
        return Network(
            nodes=self._nodes,
            bridges=frozenset(self._bridges),
            routers=frozenset(name for name in graph.hosts if len(self._lanes[name]) > 1),
            wires=tuple(Wire((self._end((x, y)), self._end((y, x)))) for x, y in self._layout.wires),
            neighbours=tuple(dict.fromkeys(self._neighbours())),
            routes=tuple(dict.fromkeys(self._routes(firsts))),
            devices=self._names,
            addresses=firsts,
        )

    def _find_networks(self) -> Iterator[list[Lane]]:
        """The lanes of hosts in one network: each leaves a host, and bridges join them."""
        seen: set[Lane] = set()
        for lane in (lane for name in self._nodes if name not in self._bridges for lane in self._lanes[name]):
            if lane not in seen:
                members = [lane, *self._reached(lane)]
                seen.update(members)
                yield members

    def _reached(self, lane: Lane) -> list[Lane]:
        """The lanes of other hosts that frames from this one can reach, in the order of their wires."""
        found: list[Lane] = []
        waiting = [lane]
        while waiting:
            x, y = waiting.pop(0)
            if y in self._bridges:
                waiting += [onward for onward in self._lanes[y] if onward != (y, x)]
            else:
                found.append((y, x))
        return found

    def _give_addresses(self) -> dict[Lane, str]:
        if len(self._networks) > _MOST_NETWORKS:
            what = f"its routers join {len(self._networks)} networks"
            raise PlanError("compiling", "topology", what, f"{_MOST_NETWORKS} are possible")
        return {
            lane: f"10.{network}.{number // _HOSTS_PER_BYTE}.{number % _HOSTS_PER_BYTE + 1}/16"
            for network, members in enumerate(self._networks)
            for number, lane in enumerate(members)
        }

    def _end(self, lane: Lane) -> End:
        states = self._layout.devices.get(lane)
        qdiscs: Sequence[Qdisc] = states[0] if states else ()
        behind = tuple(self._macs[host] for host in self._reached(lane)) if lane[0] in self._bridges else ()
        return End(
            lane[0],
            self._names[lane],
            self._macs[lane],
            self._addresses.get(lane),
            self._mtu,
            (*qdiscs, *((ect1_mark(),) if lane in self._remarked else ())),
            behind,
            offloads=self._offloads and lane[0] not in self._bridges,
        )

    def _neighbours(self) -> Iterator[Neighbour]:
        """Hosts and routers that follow one another on a flow's path have each other's addresses."""
        for journey in self._placement.journeys:
            for near, far in self._steps(journey):
                for end, other in ((near, far), (far, near)):
                    address = self._addresses[other].partition("/")[0]
                    yield Neighbour(end[0], self._names[end], address, self._macs[other])

    def _routes(self, firsts: Mapping[str, str]) -> Iterator[Route]:
        """A route to its receiver for each sender, with the initial window, and one back, with the kind of acknowledgement.

        Other routes only across a router.
        """
        options = self._placement.options
        for journey in self._placement.journeys:
            steps = self._steps(journey)
            there, back = firsts[journey.receiver], firsts[journey.sender]
            for near, far in steps:
                initial = options[journey.sender].initial_window if near[0] == journey.sender else 0
                hop = self._addresses[far].partition("/")[0]
                if initial or hop != there:
                    yield Route(near[0], f"{there}/32", hop, initial)
                hop = self._addresses[near].partition("/")[0]
                at_once = far[0] == journey.receiver and not options[journey.sender].delayed_ack
                if at_once or hop != back:
                    yield Route(far[0], f"{back}/32", hop, quickack=at_once)

    def _steps(self, journey: Journey) -> list[tuple[Lane, Lane]]:
        """The steps from host or router to the next: (the lane out of the one, the lane out of the other towards it)."""
        steps, out = [], None
        for x, y in self._layout.through(journey.forward):
            out = out or (x, y)
            if y not in self._bridges:
                steps.append((out, (y, x)))
                out = None
        return steps


def _device_names(lanes: Mapping[str, Sequence[Lane]]) -> dict[Lane, str]:
    """<node>-<next node> if the kernel accepts it, else by their positions in the list of nodes."""
    places = {name: number for number, name in enumerate(lanes)}
    named = {lane: "-".join(lane) for own in lanes.values() for lane in own}
    taken: dict[str, int] = {}
    for name in named.values():
        taken[name] = taken.get(name, 0) + 1
    return {
        (x, y): name if len(name) <= _LONGEST_DEVICE and taken[name] == 1 else f"n{places[x]}-n{places[y]}"
        for (x, y), name in named.items()
    }


def _macs(wires: Sequence[Lane]) -> dict[Lane, str]:
    """02:00:00:<number of the wire>:<end>."""
    return {
        lane: f"02:00:00:{number >> 8:02x}:{number & 255:02x}:{side:02x}"
        for number, (x, y) in enumerate(wires)
        for side, lane in enumerate(((x, y), (y, x)), 1)
    }


def device_changes(
    path: Path, mtu: int, layout: Layout, network: Network, placement: Placement
) -> Iterator[DeviceChange]:
    """The changes of devices when the path changes."""
    # The MTU of a sender's own devices: TCP takes the largest packet from its route, and so from the device.
    senders = dict.fromkeys(layout.hops[journey.forward[0]][0] for journey in placement.journeys)
    if path.states[0].mtu != mtu:
        # Wires are made for the largest MTU; the first state's is smaller.
        yield from (DeviceChange(0, lane[0], network.devices[lane], (), path.states[0].mtu) for lane in senders)
    for index, moment in enumerate(path.moments):
        before, after = path.states[index : index + 2]
        for lane in dict.fromkeys([*layout.devices, *senders]):
            qdiscs = layout.devices.get(lane)
            changed = changed_qdiscs(qdiscs[index], qdiscs[index + 1]) if qdiscs else ()
            new_mtu = after.mtu if lane in senders and after.mtu != before.mtu else None
            if changed or new_mtu is not None:
                yield DeviceChange(moment.at_us, lane[0], network.devices[lane], changed, new_mtu)
