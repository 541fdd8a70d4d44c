"""What one run replays: a recording cut or wrapped to the length of the run, from an offset on, with its rates scaled, as rows of each table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import LARGEST_RATE_BPS, Chunk, Chunks, Ints
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Interpolated values change in steps of this length.
_INTERPOLATED_NS = 1_000_000

Rows = tuple[Ints, Ints]


@dataclass(frozen=True, slots=True)
class Window:
    """From `offset_ns` of the recording on, for `length_ns`; past its end it begins again."""

    offset_ns: int
    length_ns: int


@dataclass(slots=True)
class Replay:
    """Rows by the kind of their table: rates, opportunities, delays or losses; instants count from the begin of the run."""

    rows: dict[str, Rows] = field(default_factory=dict)

    def offered_bytes(self, edges_ns: Ints) -> Ints:
        """The whole bytes that the line could carry until each of these instants."""
        if "opportunities" in self.rows:
            at, value = self.rows["opportunities"]
            sums = np.concatenate([[0], np.cumsum(value)])
            return np.asarray(sums[np.searchsorted(at, edges_ns, side="right")])
        at, value = self.rows["rates"]
        spans = [int(span) for span in np.diff(at)]
        # Rates times nanoseconds are more than 64 bits.
        bits = [0]
        for bps, span in zip(value.tolist(), spans, strict=False):
            bits.append(bits[-1] + bps * span)
        place = np.searchsorted(at, edges_ns, side="right") - 1
        return np.array(
            [
                (bits[row] + int(value[row]) * (int(edge) - int(at[row]))) // (8 * 10**9)
                for row, edge in zip(place, edges_ns, strict=True)
            ],
            dtype=np.int64,
        )


def replay(read: Callable[[], Chunks], whole_ns: int, window: Window, *, scale: float, interpolate: bool) -> Replay:
    """The rows of a run; `read` begins the recording anew, `whole_ns` is its length."""
    parts: dict[str, list[Rows]] = {}
    done, place = 0, window.offset_ns % whole_ns
    while done < window.length_ns:
        take = min(whole_ns - place, window.length_ns - done)
        # Whole turns are alike.
        turns = 1 if place else max((window.length_ns - done) // whole_ns, 1)
        begins = done - place + np.arange(turns, dtype=np.int64) * whole_ns
        for kind, (at, value) in _between(read(), place, place + take, interpolate=interpolate).items():
            # The end of a recording is the beginning of its next turn, and nothing behind the end of the run matters.
            parts.setdefault(kind, []).append(((begins[:, np.newaxis] + at).ravel(), np.tile(value, turns)))
        done, place = done + take * turns, 0
    return Replay({kind: _scaled(kind, _joined(kind, found), scale) for kind, found in parts.items()})


def _between(chunks: Chunks, begin_ns: int, end_ns: int, *, interpolate: bool) -> dict[str, Rows]:
    """The rows of a part of a recording, the row that holds at its begin first."""
    found: dict[str, list[Rows]] = {}
    for chunk in _overlapping(chunks, begin_ns, end_ns):
        columns = (("rates", chunk.rate_bps), ("delays", chunk.delay_ns), ("losses", chunk.loss_2p32))
        if chunk.opportunities is not None:
            inside = (chunk.at_ns > begin_ns) & (chunk.at_ns <= end_ns)
            if not begin_ns:
                inside |= chunk.at_ns == 0
            found.setdefault("opportunities", []).append((chunk.at_ns[inside], chunk.opportunities[inside]))
        for kind, column in columns:
            if column is None:
                continue
            at, value = (chunk.at_ns, column)
            if interpolate and kind != "losses":
                at, value = _interpolated(at, value, begin_ns, end_ns)
            inside = at < end_ns
            at, value = at[inside], value[inside]
            first = max(int(np.searchsorted(at, begin_ns, side="right")) - 1, 0)
            found.setdefault(kind, []).append((np.maximum(at[first:], begin_ns), value[first:]))
    return {kind: _joined(kind, parts) for kind, parts in found.items()}


def _overlapping(chunks: Chunks, begin_ns: int, end_ns: int) -> Iterator[Chunk]:
    """The chunks that reach into a part, each with the first row of the next one, up to which its last row holds."""
    before: Chunk | None = None
    for chunk in chunks:
        if before is not None and int(chunk.at_ns[0]) >= begin_ns:
            yield _with_first(before, chunk) if before.opportunities is None else before
        # One chunk at least: a line without any opportunity in the part is a line nevertheless.
        if before is not None and int(chunk.at_ns[0]) > end_ns:
            return
        before = chunk
    if before is not None:
        yield before


def _with_first(chunk: Chunk, after: Chunk) -> Chunk:
    def longer(column: Ints | None, other: Ints | None) -> Ints | None:
        return None if column is None or other is None else np.append(column, other[0])

    return Chunk(
        np.append(chunk.at_ns, after.at_ns[0]),
        rate_bps=longer(chunk.rate_bps, after.rate_bps),
        delay_ns=longer(chunk.delay_ns, after.delay_ns),
        loss_2p32=longer(chunk.loss_2p32, after.loss_2p32),
    )


def _interpolated(at: Ints, value: Ints, begin_ns: int, end_ns: int) -> Rows:
    """Steps of a millisecond between the rows, each with the value in its middle, so that integrals stay the same. Those of a part alone."""
    spans = np.diff(at)
    most = -(-spans // _INTERPOLATED_NS)
    first, behind = (
        np.minimum(np.maximum(place, 0), most)
        for place in ((begin_ns - at[:-1]) // _INTERPOLATED_NS, -(-(end_ns - at[:-1]) // _INTERPOLATED_NS))
    )
    counts = behind - first
    row = np.repeat(np.arange(len(spans)), counts)
    step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + first[row]
    begins = step * _INTERPOLATED_NS
    middles = (begins + np.minimum(begins + _INTERPOLATED_NS, spans[row])) / 2
    values = value[row] + (value[row + 1] - value[row]) * (middles / spans[row])
    return np.append(at[row] + begins, at[-1:]), np.append(np.rint(values).astype(np.int64), value[-1:])


def _joined(kind: str, parts: list[Rows]) -> Rows:
    """Rows in the order of time: of rows at one instant the last holds, and opportunities add up."""
    at, value = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    if not len(at):
        return at, value
    if kind == "opportunities":
        instants, place = np.unique(at, return_inverse=True)
        sums = np.zeros(len(instants), dtype=np.int64)
        np.add.at(sums, place, value)
        return instants, sums
    # A row that holds the value of the row before it says nothing.
    last = np.append(at[1:] != at[:-1], True)
    at, value = at[last], value[last]
    new = np.append(True, value[1:] != value[:-1])
    return at[new], value[new]


def _scaled(kind: str, rows: Rows, scale: float) -> Rows:
    at, value = rows
    if scale == 1:
        return rows
    if kind == "rates":
        return at, np.minimum(np.rint(value * scale), LARGEST_RATE_BPS).astype(np.int64)
    if kind == "opportunities":
        # Of the sum, so that no byte is lost to rounding.
        sums = np.rint(np.cumsum(value) * scale).astype(np.int64)
        return at, np.diff(sums, prepend=0)
    return rows
