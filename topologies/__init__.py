"""The list of topologies for experiments: each with its Mininet class and parameters.

The list can be read without Mininet; the class is imported only to build the graph. Numbers have the units of
Mininet's links, as for `mn --topo`: Mbit/s, milliseconds, packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

if __name__ != "longhaul.topologies":
    raise ImportError(f"import longhaul.topologies, not {__name__}: under two names one module would be loaded twice")

COUNT, RATE, TIME, PACKETS, SHARE = "count", "rate", "time", "packets", "share"


@dataclass(frozen=True, slots=True)
class TopologyParameter:
    """A parameter of a topology: a count, Mbit/s, milliseconds, packets or per cent; `about` explains a `default` of None."""

    name: str
    kind: str
    default: float | None
    low: float
    high: float
    about: str


@dataclass(frozen=True, slots=True)
class Topology:
    """`file` and `topo_class` are a Mininet Topo; `grows` is the parameter that follows from the flows by default."""

    name: str
    file: str
    topo_class: str
    about: str
    parameters: tuple[TopologyParameter, ...]
    grows: str | None = None

    def parameter(self, name: str) -> TopologyParameter | None:
        """The parameter of that name."""
        return next((one for one in self.parameters if one.name == name), None)


def _rate(name: str, default: float | None, about: str) -> TopologyParameter:
    return TopologyParameter(name, RATE, default, 0.001, 100_000, about)


def _time(name: str, default: float | None, about: str) -> TopologyParameter:
    return TopologyParameter(name, TIME, default, 0, 100_000, about)


def _count(name: str, default: int, high: int, about: str, low: int = 1) -> TopologyParameter:
    return TopologyParameter(name, COUNT, default, low, high, about)


_QUEUE = TopologyParameter("queue", PACKETS, None, 1, 10_000_000, "waiting room of each bottleneck; without it, 1 BDP")

CATALOG: Mapping[str, Topology] = {
    topology.name: topology
    for topology in (
        Topology(
            "dumbbell",
            "dumbbell.py",
            "Dumbbell",
            "pairs of hosts that share one bottleneck",
            (
                _count(
                    "n",
                    1,
                    1000,
                    "pairs; in an experiment, one for each set of flows that differ in host options or rtt",
                ),
                _rate("bw", 100, "rate of the bottleneck"),
                _time("rtt", 40, "base round trip of the first pair"),
                _time(
                    "rtt_last", None, "base round trip of the last pair, those between in even steps; without it, rtt"
                ),
                _QUEUE,
            ),
            grows="n",
        ),
        Topology(
            "parking_lot",
            "parking_lot.py",
            "ParkingLot",
            "one pair through a row of bottlenecks, and a pair of cross traffic at each",
            (
                _count("k", 3, 60, "bottlenecks in a row"),
                _rate("bw", 100, "rate of each bottleneck"),
                _time("rtt", 20, "round trip over each bottleneck"),
                _QUEUE,
            ),
        ),
        Topology(
            "mixed_wireless",
            "mixed_wireless.py",
            "MixedWireless",
            "wired hosts that reach stations over one 802.11 channel, half-duplex and shared by all who send there",
            (
                _count("n", 2, 50, "wired hosts, and as many stations"),
                _rate("bw", 10, "rate of each wired link"),
                _time("delay", 2, "one-way delay of each wired link"),
                _rate("wifi", 1, "data rate of the channel"),
                TopologyParameter("queue", PACKETS, 50, 1, 10_000, "waiting room of each sender on the channel"),
                TopologyParameter(
                    "aggregate",
                    COUNT,
                    None,
                    1,
                    64,
                    "most frames in one transmission of an 802.11n channel; without it, the channel is 802.11 of 1999",
                ),
                TopologyParameter(
                    "frame_loss",
                    SHARE,
                    None,
                    0,
                    100,
                    "frames of 802.11n that fail without a collision; without it, none",
                ),
            ),
        ),
        Topology(
            "incast",
            "incast.py",
            "Incast",
            "many senders behind one switch, one receiver",
            (
                _count("n", 16, 1000, "senders"),
                _rate("bw", 1000, "rate of every link"),
                _time("rtt", 0.2, "base round trip"),
                TopologyParameter("queue", PACKETS, 64, 1, 1_000_000, "waiting room in front of the receiver"),
            ),
        ),
        Topology(
            "long_path",
            "long_path.py",
            "LongPath",
            "a chain of routers whose two directions differ",
            (
                _count("hops", 5, 60, "links between routers", low=1),
                _rate("bw", 622, "rate of each of them, forward"),
                _rate("bw_reverse", None, "rate of each of them, backward; without it, bw"),
                _time("forward", 100, "one-way delay of all of them together, forward"),
                _time("reverse", 200, "one-way delay of all of them together, backward"),
                _QUEUE,
            ),
        ),
        Topology(
            "lan_and_wan",
            "lan_and_wan.py",
            "LanAndWan",
            "near and far hosts that share one bottleneck",
            (
                _count("near", 1, 250, "hosts nearby"),
                _count("far", 1, 250, "hosts far away"),
                _rate("bw", 100, "rate of the bottleneck"),
                _time("rtt_near", 2, "base round trip of the near hosts"),
                _time("rtt_far", 100, "base round trip of the far hosts"),
                _QUEUE,
            ),
        ),
        Topology(
            "evn",
            "evn.py",
            "Evn",
            "radio telescopes at growing distances that stream into one correlator",
            (
                _count("n", 6, 250, "telescopes"),
                _rate("bw", 1000, "rate into the correlator"),
                _rate("uplink", 1000, "rate of each telescope"),
                _time("first", 10, "base round trip of the nearest telescope"),
                _time("last", 40, "base round trip of the farthest, those between in even steps"),
                _QUEUE,
            ),
        ),
    )
}
