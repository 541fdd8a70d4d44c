"""One transfer over several streams: together they are as fast as one, and they send its bytes once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.guests import Runner

SIZE = 10_000_000
FRAME_S = 1514 * 8 / 1e8
# The window of each stream fills the path, and the first window that a receiver offers (64 KB) does too: the line is never idle.
SHORT: dict[str, Any] = {"bandwidth": "100 Mbit/s", "rtt": "4 ms", "buffer": "4000 packets"}


def transfer(streams: int, **more: Any) -> dict[str, Any]:
    fixed = {"cc": "lhfixed", "params": {"cwnd": "100 packets"}}
    return {"name": "scan", **fixed, "size": "10 MB", "streams": streams} | more


@pytest.mark.parametrize("streams", [1, 2, 4, 16])
def test_streams_together_take_the_time_of_one(finish: Runner, streams: int) -> None:
    """A round trip of handshake, every frame at the line's rate but the first, which is on credit, and the way to the receiver."""
    done = finish(path=SHORT, flows=[transfer(streams)], duration="3 s")
    full = -(-SIZE // 1448)
    expected_s = 0.004 + (full - 1) * FRAME_S + 0.002
    (whole,) = done.document["totals"] if streams > 1 else done.document["flows"]
    assert whole["completion_s"] == pytest.approx(expected_s, abs=(streams + 1) * FRAME_S)
    assert whole["bytes"] == SIZE
    assert done.document["fct_max"] == done.document["fct_mean"] == whole["completion_s"]


def test_others_send_what_a_stream_with_losses_does_not(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "50 Mbit/s", "rtt": "40 ms", "loss": "0.3 %"},
        flows=[transfer(4, cc="reno", params={}, size="20 MB")],
        duration="60 s",
        expect=[{"measure": "bytes", "flow": "scan", "at_least": "20 MB", "at_most": "20 MB"}],
    )
    streams, (whole,) = done.document["flows"], done.document["totals"]
    sent = [flow["bytes"] for flow in streams]
    assert sum(sent) == whole["bytes"] == 20_000_000
    assert max(sent) > 1.1 * min(sent)
    assert whole["completion_s"] == max(flow["completion_s"] for flow in streams)
    # A stream holds a block and what it has ready beyond its window: seconds for one alone would be many more.
    assert max(flow["completion_s"] for flow in streams) < 1.3 * min(flow["completion_s"] for flow in streams)
    assert whole["retransmits"] == sum(flow["retransmits"] for flow in streams) > 0
    assert whole["goodput_bps"] == pytest.approx(20_000_000 * 8 / whole["completion_s"], rel=0.01)
    assert done.document["status"] == "done"
    (check,) = [one for one in done.document["fidelity"]["checks"] if one["name"] == "bytes of streams"]
    assert check["text"] == "scan: 20000000 of 20000000 bytes sent over 4 streams, 20000000 received"


def test_a_transfer_that_does_not_end_has_no_completion(finish: Runner) -> None:
    done = finish(path=SHORT, flows=[transfer(4, size="1 GB", count=2)], duration="1 s")
    first, second = done.document["totals"]
    assert (first["name"], second["name"]) == ("scan-1", "scan-2")
    assert [flow["name"] for flow in done.document["flows"]][3:5] == ["scan-1-4", "scan-2-1"]
    assert first["completion_s"] is None
    assert done.document["fct_max"] is None
    assert 0 < first["bytes"] + second["bytes"] < 12_500_000


def test_a_transfer_smaller_than_a_block_is_sent_by_one_stream(finish: Runner) -> None:
    done = finish(path=SHORT, flows=[transfer(3, size="1 B")], duration="1 s")
    assert sorted(flow["bytes"] for flow in done.document["flows"]) == [0, 0, 1]
    assert done.document["totals"][0]["completion_s"] == pytest.approx(0.006, abs=0.0001)


def test_a_stream_that_opens_after_the_last_byte_does_not_delay_the_transfer(finish: Runner) -> None:
    """A short queue drops the SYNs of most streams, which are sent again after a second."""
    done = finish(path=SHORT | {"buffer": "10 packets"}, flows=[transfer(64, size="1 B")], duration="3 s")
    assert max(flow["completion_s"] for flow in done.document["flows"]) > 1
    assert done.document["totals"][0]["completion_s"] == pytest.approx(0.006, abs=0.001)
