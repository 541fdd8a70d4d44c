"""A run explored: pairs of values, how full queues are, the time-sequence diagram, of records with known numbers."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import cramjam
import numpy as np
import pytest

from longhaul.orchestrator.analysis.exploration.occupancy import occupancy
from longhaul.orchestrator.analysis.exploration.phase import AXES, phase
from longhaul.orchestrator.analysis.exploration.sequence import packet_sequence, sequence
from longhaul.orchestrator.system.errors import NotFound
from longhaul.orchestrator.trace.records import DROP_QUEUE
from longhaul.orchestrator.trace.segments import read_segments
from tests.support.recordings import plain_run, recorded, trace_of

SECOND = 1_000_000_000


def test_a_phase_plot_pairs_what_an_ack_found_with_the_queue_of_the_last_tick() -> None:
    trace = trace_of(
        ack=[
            {"t_ns": SECOND, "id": 0, "cwnd": 10, "rtt_us": 0},
            {"t_ns": 2 * SECOND, "id": 0, "cwnd": 20, "rtt_us": 41_000},
            {"t_ns": 2 * SECOND, "id": 1, "cwnd": 99, "rtt_us": 77_000},
            {"t_ns": 3 * SECOND, "id": 0, "cwnd": 30, "rtt_us": 43_000},
        ],
        link=[{"t_ns": at * SECOND, "id": 0, "queue_packets": at * at} for at in range(3)],
    )
    found = phase(plain_run(), trace.columns, "a")
    assert (found.t_s.tolist(), found.x_values.tolist(), found.y_values.tolist()) == ([2, 3], [41, 43], [20, 30])
    assert (found.x_unit, found.y_unit, found.of_values, found.link) == ("ms", "packets", 2, "bottleneck")
    queue = phase(plain_run(), trace.columns, "a", x="queue", begin_s=1, end_s=2)
    assert (queue.x_values.tolist(), queue.y_values.tolist()) == ([1, 4], [10, 20])


def test_a_thinned_phase_plot_keeps_the_extremes_of_both() -> None:
    run, trace, _ = recorded("lossy_pair")
    whole, thinned = (phase(run, trace.columns, "first", points=points) for points in (10_000, 40))
    assert len(thinned.t_s) <= 40 < len(whole.t_s) == whole.of_values == thinned.of_values
    for values in ("x_values", "y_values"):
        assert getattr(thinned, values).min() == getattr(whole, values).min()
        assert getattr(thinned, values).max() == getattr(whole, values).max()
    for name in AXES:
        assert len(phase(run, trace.columns, "first", x=name).t_s) <= whole.of_values + 20
    with pytest.raises(NotFound, match="known: cwnd"):
        phase(run, trace.columns, "first", x="cwnds")


def test_the_bottleneck_of_a_flow_is_the_slowest_link_on_its_path() -> None:
    run, trace, _ = recorded("lossy_pair")
    assert phase(run, trace.columns, "first", x="queue").link == run.links[0].name


def test_occupancy_is_the_share_of_time_that_a_queue_had_so_many_packets() -> None:
    # 3 packets in the first second, then 7, with 9 for a moment within a tick.
    ticks = [(0, 3, 3), (1, 7, 9), (5, 0, 7)]
    trace = trace_of(
        link=[{"t_ns": t * SECOND, "id": 0, "queue_packets": n, "queue_max_packets": most} for t, n, most in ticks]
    )
    found = occupancy(plain_run(), trace.columns, columns=2, rows=4)
    assert found.edges_s.tolist() == [0, 5, 10]
    assert found.edges_packets.tolist() == [0, 2, 4, 6, 8]
    # 500 ticks of 10 ms in the first half, 501 in the second with the last instant.
    assert found.shares[0].tolist() == pytest.approx([0, 0.2, 0, 0.8])
    assert found.shares[1].tolist() == [1, 0, 0, 0]
    assert [one.link for one in found.links] == ["bottleneck"]
    assert found.links[0].mean.tolist() == pytest.approx([(3 + 4 * 7) / 5, 0])
    assert found.links[0].greatest.tolist() == [9, 7]


def test_occupancy_of_less_than_a_tick_and_of_an_empty_queue_is_whole() -> None:
    found = occupancy(plain_run(), trace_of().columns, begin_s=1, end_s=1.02, columns=50)
    assert (len(found.edges_s), found.shares.tolist()) == (3, [[1.0], [1.0]])


def test_a_sequence_of_the_trace_has_what_was_acknowledged_in_flight_and_sent_again() -> None:
    run = plain_run()
    mss = run.meaning.mss_bytes
    rows = [(1, 0, 2, 0), (2, 2000, 4, 0), (3, 2000, 3, 2), (4, 9000, 0, 3)]
    trace = trace_of(
        ack=[
            {"t_ns": t * SECOND, "id": 0, "acked_bytes": acked, "inflight": flying, "retrans": again}
            for t, acked, flying, again in rows
        ],
        drop=[
            {"t_ns": 2 * SECOND, "id": 0, "state": DROP_QUEUE, "destination_port": run.flows[0].port},
            {"t_ns": 2 * SECOND, "id": 0, "state": DROP_QUEUE, "destination_port": run.flows[1].port},
        ],
    )
    found = sequence(run, trace.columns, "a")
    assert found.acked_bytes.tolist() == [0, 2000, 2000, 9000]
    assert found.sent_bytes.tolist() == [2 * mss, 2000 + 4 * mss, 2000 + 3 * mss, 9000]
    assert (found.retransmit_t_s.tolist(), found.retransmitted.tolist()) == ([3, 4], [2, 1])
    assert (found.retransmit_bytes.tolist(), found.drop_t_s.tolist()) == ([2000, 9000], [2])
    part = sequence(run, trace.columns, "a", begin_s=3, end_s=3.5)
    assert (part.t_s.tolist(), part.retransmitted.tolist()) == ([3], [2])
    udp, udp_trace, _ = recorded("lossy_pair")
    with pytest.raises(NotFound, match="UDP"):
        sequence(udp, udp_trace.columns, "probe")


def _tcp(ports: tuple[int, int], seq: int, length: int, ack: int, sacks: tuple[tuple[int, int], ...] = ()) -> bytes:
    options = b"" if not sacks else bytes([1, 1, 5, 2 + 8 * len(sacks)])
    options += b"".join(struct.pack(">II", *(edge % 2**32 for edge in one)) for one in sacks)
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, offset, 0x10, 0, 0, 0) + options
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + length, 0, 0, 64, 6, 0, b"\n\0\0\1", b"\n\0\0\2")
    return b"\0" * 12 + b"\x08\x00" + ip + tcp


def _pcapng(path: Path, packets: list[tuple[int, int, bytes]]) -> None:
    """A capture of headers at two devices: (interface, nanoseconds, packet)."""

    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    file = io.BytesIO()
    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
    for name in (b"bottleneck s1-b1", b"a1-s1"):
        option = struct.pack("<HH", 2, len(name)) + name + b"\0" * (-len(name) % 4)
        file.write(block(1, struct.pack("<HHI", 1, 0, 128) + option))
    for interface, t_ns, packet in packets:
        head = struct.pack("<5I", interface, t_ns >> 32, t_ns & 0xFFFFFFFF, len(packet), len(packet) + 1000)
        file.write(block(6, head + packet))
    path.write_bytes(bytes(cramjam.zstd.compress(file.getvalue())))


def test_a_sequence_of_packets_has_segments_retransmissions_and_sack_blocks(tmp_path: Path) -> None:
    run = plain_run()
    port = run.flows[0].port
    first = 2**32 - 1000  # Sequence numbers begin again at 0 after the first segment.
    there, back = (40_000, port), (port, 40_000)
    at_sender = [
        (1, 1 * SECOND, _tcp(there, first, 1000, 7)),
        (1, 2 * SECOND, _tcp(there, first + 1000, 1000, 7)),
        (1, 3 * SECOND, _tcp(there, first + 2000, 1000, 7)),
        (1, 4 * SECOND, _tcp(back, 7, 0, first + 1000, ((first + 2000, first + 3000),))),
        (1, 5 * SECOND, _tcp(there, first + 1000, 1000, 7)),
        (1, 6 * SECOND, _tcp(back, 7, 0, first + 3000)),
    ]
    # The bottleneck saw one segment less, and another flow.
    elsewhere = [(0, at * SECOND, _tcp(there, first + at * 1000, 1000, 7)) for at in range(2)]
    _pcapng(tmp_path / "c", [*elsewhere, (0, SECOND, _tcp((1, port + 1), 5, 1000, 7)), *at_sender])
    found = packet_sequence(read_segments(tmp_path / "c"), run, "a")
    assert found.place == "a1-s1"
    assert found.segment_t_s.tolist() == [1, 2, 3, 5]
    assert found.segment_from.tolist() == [0, 1000, 2000, 1000]
    assert found.segment_to.tolist() == [1000, 2000, 3000, 2000]
    assert (found.again.tolist(), found.retransmissions) == ([False, False, False, True], 1)
    assert (found.ack_t_s.tolist(), found.acked_bytes.tolist()) == ([4, 6], [1000, 3000])
    assert [one.tolist() for one in (found.sack_t_s, found.sack_from, found.sack_to)] == [[4], [2000], [3000]]
    few = packet_sequence(read_segments(tmp_path / "c"), run, "a", begin_s=2, points=2)
    assert (few.segment_t_s.tolist(), few.again.tolist(), few.of_segments) == ([2, 5], [False, True], 3)
    with pytest.raises(NotFound, match="no data of it"):
        packet_sequence(read_segments(tmp_path / "c"), plain_run(flows=[*_flows(3)]), "f2")


def test_what_a_queue_drops_is_captured_early_and_is_not_sent_again(tmp_path: Path) -> None:
    run = plain_run()
    port = run.flows[0].port
    order = (0, 2000, 1000, 2000)
    _pcapng(tmp_path / "c", [(0, at * SECOND, _tcp((9, port), begin, 1000, 7)) for at, begin in enumerate(order)])
    found = packet_sequence(read_segments(tmp_path / "c"), run, "a")
    assert found.segment_from.tolist() == list(order)
    assert found.again.tolist() == [False, False, False, True]


def _flows(count: int) -> list[dict[str, str]]:
    return [{"name": f"f{at}", "cc": "reno"} for at in range(count)]


def test_a_capture_without_packets_is_empty(tmp_path: Path) -> None:
    _pcapng(tmp_path / "c", [])
    assert np.array_equal(read_segments(tmp_path / "c").rows["t_ns"], [])
