"""Recordings of other tools: known numbers in packet captures of every kind, and what is refused."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.recordings.iperf3 import read_iperf3
from longhaul.orchestrator.analysis.recordings.read import read_recordings
from longhaul.orchestrator.analysis.recordings.recording import RecordedFlow, Recording
from longhaul.orchestrator.analysis.series import Counter
from longhaul.orchestrator.system.errors import PlanError, ResultsError

MS = 1_000_000
SYN, ACK = 2, 16
ONE, OTHER = b"\x0a\0\0\1", b"\x0a\0\0\2"
ONE_6, OTHER_6 = (bytes(15) + bytes([end]) for end in (1, 2))


def ip(source: bytes, destination: bytes, protocol: int, payload: bytes, length: int) -> bytes:
    """A packet of IPv4 or IPv6 whose payload was longer than what is kept of it."""
    if len(source) == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, protocol, 0)
        return head + source + destination + payload
    return struct.pack(">IHBB", 0x60000000, length, protocol, 64) + source + destination + payload


def tcp(
    there: bool, seq: int, ack: int, length: int, flags: int = ACK, ends: tuple[bytes, bytes] = (ONE, OTHER)
) -> bytes:
    source, destination = ends if there else ends[::-1]
    ports = (40000, 5001) if there else (5001, 40000)
    segment = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, 5 << 4, flags, 1000, 0, 0)
    return ip(source, destination, 6, segment, 20 + length)


def transfer(begin: int = 1000, ends: tuple[bytes, bytes] = (ONE, OTHER)) -> list[tuple[int, bytes]]:
    """Times and packets: a handshake, ten segments of 1000 bytes at 10 ms, of which the fourth is sent again; 40 ms of round trip."""
    packets = [(0, tcp(True, begin, 0, 0, SYN, ends)), (40 * MS, tcp(False, 7, begin + 1, 0, SYN | ACK, ends))]
    data = begin + 1
    for number in range(10):
        packets.append((50 * MS + number * 10 * MS, tcp(True, data + number * 1000, 8, 1000, ends=ends)))
        if number < 3:
            packets.append((90 * MS + number * 10 * MS, tcp(False, 8, data + (number + 1) * 1000, 0, ends=ends)))
    packets.append((160 * MS, tcp(True, data + 3000, 8, 1000, ends=ends)))
    packets.append((200 * MS, tcp(False, 8, data + 10_000, 0, ends=ends)))
    return sorted(packets, key=lambda one: one[0])


def pcap(
    packets: list[tuple[int, bytes]], order: str = "<", link: int = 101, head: bytes = b"", ns: bool = False
) -> bytes:
    magic = 0xA1B23C4D if ns else 0xA1B2C3D4
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 96, link)]
    for t_ns, packet in packets:
        data = head + packet
        part = t_ns % 10**9 // (1 if ns else 1000)
        parts.append(struct.pack(f"{order}4I", t_ns // 10**9, part, len(data), len(data) + 1000) + data)
    return b"".join(parts)


def pcapng(packets: list[tuple[int, bytes]], order: str) -> bytes:
    """Two interfaces with the same packets, times in 2^-20 s, an unknown block between."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(f"{order}II", kind, 12 + len(body)) + body + struct.pack(f"{order}I", 12 + len(body))

    section = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack(f"{order}HHBxxxHH", 9, 1, 0x80 | 20, 0, 0)
    interface = block(1, struct.pack(f"{order}HHI", 101, 0, 96) + options)
    blocks = [section, interface, interface, block(0x0BAD, b"anything")]
    for t_ns, packet in packets:
        ticks = t_ns * 2**20 // 10**9
        for number in (0, 1):
            head = struct.pack(f"{order}5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(packet), len(packet) + 1000)
            blocks.append(block(6, head + packet))
    return b"".join(blocks)


KINDS = {
    "raw IP": pcap(transfer()),
    "nanoseconds, big-endian": pcap(transfer(), ">", ns=True),
    "Ethernet": pcap(transfer(), link=1, head=bytes(12) + b"\x08\x00"),
    "two VLANs": pcap(transfer(), link=1, head=bytes(12) + b"\x88\xa8\0\5\x81\x00\0\7\x08\x00"),
    "Linux cooked": pcap(transfer(), link=113, head=bytes(14) + b"\x08\x00"),
    "Linux cooked 2": pcap(transfer(), link=276, head=b"\x08\x00" + bytes(18)),
    "loopback": pcap(transfer(), link=0, head=b"\2\0\0\0"),
    "IPv6": pcap(transfer(ends=(ONE_6, OTHER_6)), link=1, head=bytes(12) + b"\x86\xdd"),
    "numbers that wrap": pcap(transfer(2**32 - 3500)),
    "pcapng": pcapng(transfer(), "<"),
    "pcapng, big-endian": pcapng(transfer(), ">"),
    "gzip": gzip.compress(pcap(transfer())),
}


@pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)
def test_every_kind_of_capture_has_the_same_numbers(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    (recording,) = read_recordings(tmp_path / "file")
    (flow,) = recording.flows
    assert "40000 to" in flow.name and flow.name.endswith(":5001")
    assert flow.bytes.value[-1] == 10_000
    assert flow.bytes.t_s[-1] == pytest.approx(0.2, abs=2e-6)
    assert flow.retransmits is not None and flow.retransmits.value[-1] == 1
    # Three segments have a round trip; what acknowledges the one that was sent again has none (Karn).
    assert flow.rtt_ms is not None and flow.rtt_ms.value == pytest.approx([40.0] * 3, abs=2e-3)


def test_a_capture_without_acknowledgements_counts_what_was_sent(tmp_path: Path) -> None:
    there = [(t_ns, packet) for t_ns, packet in transfer() if packet[12:16] == ONE]
    (tmp_path / "one-way.pcap").write_bytes(pcap(there))
    ((flow,),) = (recording.flows for recording in read_recordings(tmp_path))
    assert (flow.bytes.value[-1], flow.rtt_ms) == (10_000, None)


def test_udp_and_small_connections(tmp_path: Path) -> None:
    datagrams = [(number * MS, ip(ONE, OTHER, 17, struct.pack(">HHHH", 7, 9, 1008, 0), 1008)) for number in range(1000)]
    small = [(t_ns, packet) for t_ns, packet in transfer() if t_ns < 60 * MS]
    (tmp_path / "mixed.pcap").write_bytes(pcap(sorted(datagrams + small)))
    (recording,) = read_recordings(tmp_path / "mixed.pcap")
    (flow,) = recording.flows
    assert (flow.name, flow.kind, flow.bytes.value[-1]) == ("10.0.0.1:7 to 10.0.0.2:9", "udp", 1_000_000)
    assert "1 more with less than 1% of the largest one's data" in recording.notes[0]


IPERF3: dict[str, Any] = {
    "start": {"test_start": {"protocol": "TCP", "bytes": 0}, "tcp_mss_default": 1000},
    "intervals": [
        {"streams": [{"socket": 5, "start": 0, "end": 1, "bytes": 999, "retransmits": 9, "omitted": True}]},
        *(
            {
                "streams": [
                    {"socket": 5, "start": end - 1, "end": end, "bytes": 1000 * end, "retransmits": 1, "rtt": 50_000, "snd_cwnd": 7000}
                ]
            }
            for end in (2, 3)
        ),
    ],
    "end": {"sender_tcp_congestion": "bbr"},
}  # fmt: skip


def test_iperf3_without_its_omitted_intervals() -> None:
    (flow,) = read_iperf3(IPERF3, "file").flows
    assert (flow.bytes.t_s.tolist(), flow.bytes.value.tolist()) == ([0, 1, 2], [0, 2000, 5000])
    assert flow.retransmits is not None and flow.retransmits.value.tolist() == [0, 1, 2]
    assert flow.cwnd_packets is not None and flow.cwnd_packets.value.tolist() == [7, 7]
    assert flow.rtt_ms is not None and flow.rtt_ms.smoothed and flow.cc == "bbr"


BROKEN = {
    "cut.pcap": (pcap(transfer())[:-5], "it ends within a packet"),
    "cut.pcapng": (pcapng(transfer(), "<")[:-5], "it ends within a packet"),
    "long.pcapng": (pcapng(transfer(), "<")[:28] + struct.pack("<II", 6, 2**31), "a block of an impossible length"),
    "radio.pcap": (pcap(transfer(), link=127), "link type 127, which is not read"),
    "empty.pcap": (pcap([]), "it has no data of TCP or UDP"),
    "cut.gz": (gzip.compress(pcap(transfer()))[:-30], "it is cut off"),
    "failed.json": (
        json.dumps({"start": {}, "intervals": [], "end": {}, "error": "unable to connect"}).encode(),
        "iperf3 failed: unable to connect",
    ),
    "odd.json": (json.dumps(IPERF3 | {"start": {}}).encode(), "it is not as its program writes it (KeyError: 'test_start')"),
    "none.flent": (
        json.dumps({"metadata": {}, "results": {"Ping (ms) ICMP": [1, 2]}, "x_values": [0, 1]}).encode(),
        "it has no transfer of TCP or UDP",
    ),
    "flat.flent": (
        json.dumps({"metadata": {}, "results": {"TCP upload": [1, 2]}, "x_values": [1, 1]}).encode(),
        "its times do not rise",
    ),
}  # fmt: skip


def test_series_that_flent_computed_or_took_from_sockets_are_no_flows(tmp_path: Path) -> None:
    names = ["TCP upload BE", "TCP upload::1", "TCP download b1"]
    others = ["TCP upload avg", "TCP upload sum", "TCP upload fairness", "TCP totals"]
    values = {name: [1.0, 2.0] for name in (*names, *others)}
    of_sockets = {f"{name}::{of}": [40.0, 50.0] for name in names for of in ("tcp_rtt", "tcp_cwnd", "tcp_pacing_rate")}
    document = {"metadata": {}, "results": values | of_sockets | {"Ping (ms) ICMP": [7, 7]}, "x_values": [0.2, 0.4]}
    (tmp_path / "a.flent").write_text(json.dumps(document))
    (recording,) = read_recordings(tmp_path / "a.flent")
    assert [flow.name for flow in recording.flows] == names
    for flow in recording.flows:
        assert flow.rtt_ms is not None and (flow.rtt_ms.value.tolist(), flow.rtt_ms.smoothed) == ([40, 50], True)
        assert flow.cwnd_packets is not None
    assert recording.notes == ("flent has TCP's smoothed round trip of each socket, so only its mean is compared",)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recording_is_one_sentence(tmp_path: Path, name: str) -> None:
    content, words = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ResultsError, match="reading the recording") as error:
        read_recordings(tmp_path / name)
    assert words in str(error.value)


def test_other_files_are_no_recordings(tmp_path: Path) -> None:
    for name, content in (("a.json", b'{"runs": []}'), ("b.txt", b"text"), ("c", b""), ("d.json", b"{broken")):
        (tmp_path / name).write_bytes(content)
    assert read_recordings(tmp_path) == []


def flow(name: str, kind: str = "tcp", rate: float = 1000.0) -> RecordedFlow:
    t_s = np.arange(0.0, 11.0)
    return RecordedFlow(name, kind, Counter(t_s, t_s * rate))


def run(**flows: str) -> Any:
    about = {"completion_s": None, "start_s": 2.0}
    listed = [{"name": name, "kind": kind, **about} for name, kind in flows.items()]
    return {"from_s": 4.0, "to_s": 9.0, "seed": 3, "point": {}, "flows": listed}


def test_flows_are_matched_by_kind_in_order_and_start_with_the_runs() -> None:
    recording = Recording("file", "packets", (flow("first", "udp"), flow("second"), flow("third")))
    wanted = run(a="tcp", b="udp", c="web")
    found = recording.matched(wanted["flows"], {})
    assert [(one.name, one.kind) for one in found.flows] == [("a", "tcp"), ("b", "udp"), ("c", "tcp")]
    assert found.flows[0].bytes.t_s[0] == 2.0
    assert found.notes == ("file has its flow second as a, first as b, third as c",)
    chosen = recording.matched(wanted["flows"], {"c": "second"})
    assert {one.name: one.kind for one in chosen.flows} == {"c": "tcp", "a": "tcp", "b": "udp"}
    document = found.document(wanted)
    assert [one["goodput_bps"] for one in document["flows"]] == [8000.0] * 3
    assert (document["from_s"], document["to_s"], document["goodput_total"]) == (4.0, 9.0, 24000.0)
    # A web user has no place in Jain's index.
    assert document["jain"] is None
    some = Recording("file", "packets", (flow("second"),)).matched(wanted["flows"], {}).document(wanted)
    assert [some["goodput_total"], some["flows"][0]["share"]] == [None, None]


def test_a_match_that_cannot_be_is_refused() -> None:
    recording = Recording("file", "packets", (flow("first"), flow("second")))
    for match, words in (({"x": "first"}, "the run has no flow x"), ({"a": "s"}, "2 flows contain 's'")):
        with pytest.raises(PlanError, match=words):
            recording.matched(run(a="tcp")["flows"], match)
    with pytest.raises(PlanError, match="it has no flow of the kind of b"):
        recording.matched(run(b="udp")["flows"], {})
