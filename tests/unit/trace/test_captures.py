"""The pcapng file of a capture: what is copied, left out and noted, and what is refused."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import cramjam
import numpy as np
import pytest

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.captures import DROPPED, EVENT, MARKED, CapturedInterface, CaptureHeader, write_pcapng
from longhaul.orchestrator.trace.pcap import unpack_pcapng, write_pcaps
from longhaul.orchestrator.trace.records import DROP_QUEUE, DROP_RANDOM, TRACE_KINDS

PACKET = 6
END_NS = 1_000_000_000
NONE = np.zeros(0, TRACE_KINDS["drop"])


def block(t_ns: int, payload: bytes, interface: int = 0) -> bytes:
    """As kmod/lh_capture.c writes it."""
    padded = payload + bytes(-len(payload) % 4)
    length = 28 + len(padded) + 16
    time = t_ns % 2**64
    head = struct.pack("<7I", PACKET, length, interface, time >> 32, time & 0xFFFFFFFF, len(payload), 1514)
    return head + padded + struct.pack("<HHIII", 2, 4, 2, 0, length)


def header(ahead_ns: int = 0, links: tuple[int | None, ...] = (0,)) -> CaptureHeader:
    named = [CapturedInterface(f"dev{number}", "a device", 10**8, link) for number, link in enumerate(links)]
    return CaptureHeader("about", "Linux", "Longhaul", 96, named, {"10.0.0.1": "a1"}, ahead_ns, END_NS)


def written(
    tmp_path: Path,
    blocks: bytes,
    events: list[tuple[int, int, int, int, int]] = [],  # noqa: B006
    about: CaptureHeader | None = None,
    drops: np.ndarray = NONE,
) -> list[tuple[int, bytes]]:
    """The kind and the content of each block of the file."""
    (tmp_path / "blocks").write_bytes(blocks)
    np.array(events, EVENT).tofile(tmp_path / "events")
    packed = io.BytesIO()
    write_pcapng(tmp_path / "blocks", tmp_path / "events", about or header(), drops, packed)
    (tmp_path / "file.zst").write_bytes(packed.getvalue())
    content, found = bytes(cramjam.zstd.decompress(packed.getvalue())), []
    while content:
        kind, length = struct.unpack_from("<II", content)
        assert struct.unpack_from("<I", content, length - 4) == (length,)
        found.append((kind, content[8 : length - 4]))
        content = content[length:]
    return found


def packets(found: list[tuple[int, bytes]]) -> list[bytes]:
    return [body for kind, body in found if kind == PACKET]


def test_packets_are_copied_byte_for_byte(tmp_path: Path) -> None:
    blocks = [block(number, bytes([number]) * (42 + number)) for number in range(20)]
    found = written(tmp_path, b"".join(blocks))
    assert packets(found) == [one[8:-4] for one in blocks]
    assert [kind for kind, _ in found[:3]] == [0x0A0D0D0A, 1, 4]


def test_packets_before_the_start_and_after_the_end_are_left_out(tmp_path: Path) -> None:
    times = [-5_000_000, -1, 0, END_NS, END_NS + 1, END_NS + 20]
    blocks = [block(t_ns, b"x" * 60) for t_ns in times]
    assert packets(written(tmp_path, b"".join(blocks))) == [one[8:-4] for one in blocks[2:4]]
    assert packets(written(tmp_path, blocks[0] + blocks[-1])) == []
    assert packets(written(tmp_path, b"")) == []


def test_a_start_that_was_later_than_planned_is_an_offset(tmp_path: Path) -> None:
    """A module that sleeps as it is loaded moves time zero by whole seconds; the file says so, and all packets are there."""
    second = 1_000_000_000
    blocks = [block(t_ns, b"x" * 60) for t_ns in (0, 2 * second - 1, 2 * second, 3 * second, 3 * second + 1)]
    found = written(tmp_path, b"".join(blocks), about=header(ahead_ns=2 * second))
    assert packets(found) == [one[8:-4] for one in blocks[2:4]]
    assert struct.pack("<HHq", 14, 8, -2) in dict(found)[1]


def test_losses_and_marks_are_comments_of_their_packets(tmp_path: Path) -> None:
    blocks = [block(number, b"y" * 61) for number in range(5)]
    places = [sum(map(len, blocks[:number])) for number in range(5)]
    drops = np.zeros(3, TRACE_KINDS["drop"])
    drops["state"], drops["queue_packets"] = [DROP_QUEUE, DROP_RANDOM, DROP_QUEUE], [7, 0, 9]
    events = [
        (places[3], 3, DROPPED, 0, 0),
        (places[1], 4, MARKED, 0, 0),
        # A packet of a flow that is not captured, which the trace has too.
        (2**64 - 1, 4, DROPPED, 0, 0),
        (places[4], 5, DROPPED, 0, 0),
    ]
    found = packets(written(tmp_path, b"".join(blocks), events, drops=drops))
    assert b"dropped by the queue of dev0, which had 7 packets, at 0.000000003 s" in found[3]
    assert b"marked (CE) in the queue of dev0, left at 0.000000004 s" in found[1]
    assert b"dropped by the queue of dev0, which had 9 packets" in found[4]
    assert found[0] == blocks[0][8:-4] and found[2] == blocks[2][8:-4]


def test_without_a_link_in_the_trace_a_loss_has_no_cause(tmp_path: Path) -> None:
    found = packets(written(tmp_path, block(0, b"z" * 60), [(0, 3, DROPPED, 0, 0)], header(links=(None,))))
    assert b"lost at dev0, at 0.000000003 s" in found[0]


@pytest.mark.parametrize("cut", [1, 27, 50])
def test_a_broken_file_is_refused(tmp_path: Path, cut: int) -> None:
    with pytest.raises(TraceError, match="there is no whole packet"):
        written(tmp_path, (block(0, b"x" * 60) + block(END_NS + 5, b"x" * 60))[:-cut])
    with pytest.raises(TraceError, match="there is no whole packet"):
        written(tmp_path, b"\x00" * 100)


def test_plain_pcapng_and_pcap_have_the_same_packets(tmp_path: Path) -> None:
    blocks = [block(number * 1000, bytes([number]) * 60, number % 2) for number in range(6)]
    written(tmp_path, b"".join(blocks), about=header(links=(0, None)))
    unpack_pcapng(tmp_path / "file.zst", tmp_path / "plain")
    assert (tmp_path / "plain").read_bytes() == bytes(cramjam.zstd.decompress((tmp_path / "file.zst").read_bytes()))
    one, other = write_pcaps(tmp_path / "file.zst", tmp_path)
    assert (one.name, other.name) == ("dev0.pcap", "dev1.pcap")
    records = other.read_bytes()[24:]
    assert [records[at : at + 76] for at in range(0, len(records), 76)] == [
        struct.pack("<4I", 0, number, 60, 1514) + bytes([number]) * 60 for number in (1, 3, 5)
    ]
