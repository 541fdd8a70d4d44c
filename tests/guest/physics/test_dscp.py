"""The class of a flow's packets: in every packet of both directions, beside the ECN field, and what cake makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.results.packets import PACKETS
from tests.guest.physics.test_captures import read
from tests.support.guests import FLOW, Runner


@pytest.mark.parametrize(
    ("flow", "number"),
    [
        ({"cc": "cubic", "dscp": "AF41", "ecn": "on"}, 34),
        ({"cc": "dctcp", "dscp": 63}, 63),
        ({"web": {"mean": "20 KB", "think": "50 ms"}, "dscp": "cs1"}, 8),
        ({"cc": "reno", "size": "1 MB", "streams": 2, "dscp": "LE"}, 1),
        ({"udp": "1 Mbit/s", "ect": 1, "dscp": "EF"}, 46),
    ],
)
def test_every_packet_has_the_class(finish: Runner, pipeline: Pipeline, flow: dict[str, Any], number: int) -> None:
    done = finish(flows=[{"name": "one", **flow}], duration="1 s", capture={"at": ["all"]}, topology="dumbbell")
    file = pipeline.store.file(done.document["run"], PACKETS)
    rows = read(file, "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.src")
    assert {int(dscp) for dscp, _, _ in rows} == {number}
    ecn = {int(bits) for _, bits, _ in rows}
    assert ecn == ({1} if "udp" in flow else {0, 2} if flow.get("ecn") else {2} if flow.get("cc") == "dctcp" else {0})
    assert len({source for _, _, source in rows}) == (1 if "udp" in flow else 2)
    checks = [one for one in done.document["fidelity"]["checks"] if one["name"] == "DSCP as asked"]
    assert len(checks) == len(done.run.flows)


@pytest.mark.parametrize(("dscp", "ratio"), [("CS1", 16), ("LE", 16), ("EF", 4), ("CS0", 1), ("AF41", 1)])
def test_cake_shares_by_the_weights_of_its_tins(finish: Runner, dscp: str, ratio: float) -> None:
    """Without a rate of its own cake's tins share by their quanta (diffserv3): bulk has a 16th of best effort's, voice a quarter."""
    fast = {"cc": "lhfixed", "params": {"cwnd": "300 packets"}, "sender": "a1", "receiver": "b1"}
    done = finish(
        path={"bandwidth": "20 Mbit/s", "rtt": "10 ms", "buffer": "2000 packets", "queue": "cake"},
        flows=[FLOW | fast | {"name": "plain"}, FLOW | fast | {"name": "classed", "dscp": dscp}],
        duration="10 s",
        warmup="2 s",
    )
    plain, classed = (flow["throughput_bps"] for flow in done.document["flows"])
    assert plain / classed == pytest.approx(ratio, rel=0.02)
