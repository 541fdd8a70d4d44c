"""Every topology has its configured numbers: the base round trip of each pair, the rate of each bottleneck."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.analysis.series import counter, of_flow
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.topologies import CATALOG
from tests.support.guests import Runner

HEADER_SHARE = 1448 / 1514

# (topology, parameters, base round trip of each pair in ms, rate of each bottleneck in Mbit/s)
KNOWN: list[tuple[str, dict[str, Any], list[float], list[float]]] = [
    ("dumbbell", {"n": 3, "bw": "30 Mbit/s", "rtt": "20 ms", "rtt_last": "60 ms"}, [20, 40, 60], [30]),
    ("parking_lot", {"k": 3, "bw": "20 Mbit/s", "rtt": "10 ms"}, [30, 10, 10, 10], [20, 20, 20]),
    ("incast", {"n": 4, "bw": "100 Mbit/s", "rtt": "2 ms"}, [2, 2, 2, 2], [100]),
    ("long_path", {"hops": 3, "bw": "50 Mbit/s", "forward": "30 ms", "reverse": "60 ms"}, [90], [50]),
    ("lan_and_wan", {"bw": "40 Mbit/s", "rtt_near": "4 ms", "rtt_far": "80 ms"}, [4, 80], [40]),
    ("evn", {"n": 4, "bw": "60 Mbit/s", "uplink": "30 Mbit/s"}, [10, 20, 30, 40], [60]),
]


def experiment(topology: str, params: dict[str, Any], flows: list[dict[str, Any]], duration: str) -> dict[str, Any]:
    return {
        "experiment": topology.replace("_", "-"),
        "path": None,
        "topology": topology,
        "params": params,
        "flows": flows,
        "duration": duration,
        "start_jitter": "0 s",
    }


@pytest.mark.parametrize(("topology", "params", "rtts_ms", "rates_mbps"), KNOWN, ids=[row[0] for row in KNOWN])
def test_each_pair_has_its_base_round_trip(
    topology: str, params: dict[str, Any], rtts_ms: list[float], rates_mbps: list[float], finish: Runner
) -> None:
    # One packet at a time, one pair after the other, so there is no queueing.
    flows = [
        {"name": f"p{number}", "cc": "cubic", "size": "20 B", "start": f"{number} s", "sender": near, "receiver": far}
        for number, (near, far) in enumerate(build_graph(topology, params).pairs)
    ]
    done = finish(**experiment(topology, params, flows, f"{len(flows) + 1} s"))
    for flow, rtt_ms in zip(done.run.flows, rtts_ms, strict=True):
        least_us = done.facts["flows"][flow.id]["min_rtt_us"]
        rates = [link.rate_bps for link in done.run.links if link.dev in (*flow.forward, *flow.back)]
        # A frame of a handshake or of a tiny segment is serialised once at each of these rates.
        sending_us = sum(90 * 8e6 / rate for rate in rates)
        assert rtt_ms * 1000 <= least_us <= rtt_ms * 1000 + sending_us + 20


@pytest.mark.parametrize(("topology", "params", "rtts_ms", "rates_mbps"), KNOWN, ids=[row[0] for row in KNOWN])
def test_each_bottleneck_has_its_rate(
    topology: str, params: dict[str, Any], rtts_ms: list[float], rates_mbps: list[float], finish: Runner
) -> None:
    pairs = build_graph(topology, params).pairs
    flows = [
        {"name": f"p{number}", "cc": "cubic", "sender": near, "receiver": far}
        for number, (near, far) in enumerate(pairs)
    ]
    done = finish(**experiment(topology, params, flows, "12 s"))
    bottlenecks = (
        {"bottleneck"} if len(rates_mbps) == 1 else {"-".join(one) for one in build_graph(topology, params).bottlenecks}
    )
    measured = [
        counter(of_flow(done.trace.links, link.id), "tx_bytes", done.run).rate(4, 12) * 8e-6
        for link in done.run.links
        if link.name in bottlenecks or topology == "long_path"
    ]
    assert measured[: len(rates_mbps)] == pytest.approx(rates_mbps, rel=0.02)


def test_a_user_supplied_topo_runs_with_its_link_options(tmp_path: Path, finish: Runner) -> None:
    (tmp_path / "lab.py").write_text(
        "from mininet.topo import Topo\n"
        "class Lab(Topo):\n"
        "    def build(self, bw=10):\n"
        "        h1, h2, s1 = self.addHost('h1'), self.addHost('h2'), self.addSwitch('s1')\n"
        "        self.addLink(h1, s1, bw=bw, delay='5ms', max_queue_size=100)\n"
        "        self.addLink(s1, h2, bw=2 * bw, delay='10ms', max_queue_size=100)\n"
    )
    written = {
        "experiment": "lab",
        "path": None,
        "topology": f"{tmp_path}/lab.py:Lab",
        "params": {"bw": 4},
        "flows": [{"name": "a", "cc": "reno", "sender": "h1", "receiver": "h2"}],
        "duration": "10 s",
    }
    done = finish(**written)
    acks = of_flow(done.trace.acks, 0)
    assert 30_000 <= acks["rtt_us"][acks["rtt_us"] > 0].min() <= 31_000
    goodput_bps = done.document["flows"][0]["goodput_bps"]
    assert goodput_bps == pytest.approx(4e6 * HEADER_SHARE, rel=0.05)
    # The link of the host is shaped one node further, not on the host.
    assert not next(end for end in done.run.ends if end.node == "h1").qdiscs


@pytest.mark.parametrize("topology", sorted(CATALOG))
def test_every_topology_runs_with_its_defaults(topology: str, finish: Runner) -> None:
    params = {"bw": "20 Mbit/s", "rtt": "20 ms"} if topology == "dumbbell" else {}
    done = finish(**experiment(topology, params, [{"name": "a", "cc": "cubic", "count": 2}], "500 ms"))
    assert all(flow["bytes"] > 0 for flow in done.document["flows"])
