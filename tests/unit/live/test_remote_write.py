"""Remote write: known bytes, and requests that an independent reader parses."""

from __future__ import annotations

import struct
from typing import Any

import cramjam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.live.moments import STALE
from longhaul.orchestrator.live.remote_write import EMPTY, MOST_SAMPLES, label_block, requests, samples_block

AT_MS = 1_795_305_560_299


def test_labels_are_known_bytes() -> None:
    assert label_block({"__name__": "up", "job": "x"}) == (
        b"\x0a\x0e" + b"\x0a\x08__name__" + b"\x12\x02up" + b"\x0a\x08" + b"\x0a\x03job" + b"\x12\x01x"
    )


def test_a_sample_is_known_bytes() -> None:
    found = samples_block(np.array([AT_MS]), np.array([1.5]).view(np.uint64))
    # 1795305560299 in groups of seven bits, the lowest first.
    assert found == bytes.fromhex("12 10 09 000000000000f83f 10 ebb1b384a034")


def test_the_mark_of_an_end_keeps_its_bits() -> None:
    found = samples_block(np.array([AT_MS]), np.array([STALE]))
    assert found[3:11] == bytes.fromhex("020000000000f07f")


def test_impossible_times_are_refused() -> None:
    for ms in (-1, 0, 2**42):
        with pytest.raises(ValueError, match="milliseconds since 1970"):
            samples_block(np.array([ms]), np.array([0], dtype=np.uint64))


def test_a_message_without_series_is_empty() -> None:
    assert bytes(cramjam.snappy.decompress_raw(EMPTY.body)) == b""


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> list[tuple[int, Any]]:
    """Any protobuf message: (number, value)."""
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            length, at = varint(data, at)
            found.append((tag >> 3, data[at : at + length]))
            at += length
        elif tag & 7 == 1:
            found.append((tag >> 3, data[at : at + 8]))
            at += 8
        else:
            value, at = varint(data, at)
            found.append((tag >> 3, value))
    return found


SERIES = st.lists(
    st.tuples(
        st.dictionaries(st.text(min_size=1, max_size=200), st.text(max_size=200), max_size=4),
        st.lists(st.tuples(st.integers(2**35, 2**42 - 1), st.integers(0, 2**64 - 1)), min_size=1, max_size=12),
    ),
    max_size=6,
)


@given(series=SERIES, most=st.integers(1, 20))
def test_any_series_can_be_read_back_from_its_requests(
    series: list[tuple[dict[str, str], list[tuple[int, int]]]], most: int
) -> None:
    pieces = [
        (label_block(labels), np.array([ms for ms, _ in some]), np.array([bits for _, bits in some], dtype=np.uint64))
        for labels, some in series
    ]
    found: list[tuple[dict[str, str], list[tuple[int, int]]]] = []
    for request in requests(pieces, most):
        count, newest_ms = 0, 0
        for number, one in fields(bytes(cramjam.snappy.decompress_raw(request.body))):
            assert number == 1
            parts = fields(one)
            labels = {
                name.decode(): value.decode()
                for _, label in ((n, p) for n, p in parts if n == 1)
                for (_, name), (_, value) in [fields(label)]
            }
            some: list[tuple[int, int]] = []
            for _, sample in ((n, p) for n, p in parts if n == 2):
                (_, value), (_, ms) = fields(sample)
                some.append((ms, struct.unpack("<Q", value)[0]))
            count += len(some)
            newest_ms = max(newest_ms, *(ms for ms, _ in some))
            found.append((labels, some))
        assert (count, newest_ms) == (request.samples, request.newest_ms)
        assert count <= most
    flat = [(labels, sample) for labels, some in found for sample in some]
    assert flat == [(labels, sample) for labels, some in series for sample in some]


def test_a_request_has_a_bounded_size() -> None:
    ms = np.arange(AT_MS, AT_MS + 3 * MOST_SAMPLES + 1)
    made = list(requests([(label_block({"__name__": "m"}), ms, np.zeros(len(ms), dtype=np.uint64))]))
    assert [one.samples for one in made] == [MOST_SAMPLES] * 3 + [1]
