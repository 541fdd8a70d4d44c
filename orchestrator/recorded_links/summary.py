"""A whole recording in a few numbers, in one pass over its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import NS_PER_S, Chunk, Chunks, Ints, Summary
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# A recording of a single row holds so long, unless the length of its rows is given.
SINGLE_ROW_NS = NS_PER_S
# A gap between opportunities that counts as an outage: cellular links pause for some milliseconds all the time.
OUTAGE_NS = 100_000_000


@dataclass(slots=True)
class Outages:
    """The begins and ends of outages: rows with a rate of 0, or a gap between opportunities. Chunks are given in their order."""

    count: int = 0
    total_ns: int = 0
    longest_ns: int = 0
    _begin_ns: int | None = None
    _last_ns: int = 0

    def in_chunk(self, chunk: Chunk) -> list[tuple[int, int]]:
        """Those that end in a chunk."""
        if chunk.opportunities is not None:
            begins_ns = np.append(self._last_ns, chunk.at_ns[:-1])
            (long,) = np.nonzero(chunk.at_ns - begins_ns > OUTAGE_NS)
            self._last_ns = int(chunk.at_ns[-1])
            return self._counted(list(zip(begins_ns[long].tolist(), chunk.at_ns[long].tolist(), strict=True)))
        if chunk.rate_bps is None:
            return []
        stopped = chunk.rate_bps == 0
        (changes,) = np.nonzero(stopped != np.append(self._begin_ns is not None, stopped[:-1]))
        found: list[tuple[int, int]] = []
        for at_ns in chunk.at_ns[changes].tolist():
            if self._begin_ns is None:
                self._begin_ns = at_ns
            else:
                found.append((self._begin_ns, at_ns))
                self._begin_ns = None
        return self._counted(found)

    def at_end(self, end_ns: int) -> list[tuple[int, int]]:
        """The one that lasts until the end of the recording, if any."""
        return [] if self._begin_ns is None else self._counted([(self._begin_ns, end_ns)])

    def _counted(self, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        for begin_ns, end_ns in found:
            self.count += 1
            self.total_ns += end_ns - begin_ns
            self.longest_ns = max(self.longest_ns, end_ns - begin_ns)
        return found


def find_outages(chunks: Chunks, length_ns: int) -> Iterator[tuple[int, int]]:
    """The begin and the end of each outage of a recording of this length."""
    outages = Outages()
    for chunk in chunks:
        yield from outages.in_chunk(chunk)
    yield from outages.at_end(length_ns)


@dataclass(slots=True)
class _Sums:
    """Integrals over the rows that have an end."""

    bits: float = 0.0
    delay: float = 0.0
    loss: float = 0.0
    outages: Outages = field(default_factory=Outages)


def summarise(chunks: Chunks, step_ns: int | None = None) -> Summary:
    """Of rows: each holds until the next, the last as long as the one before, a single one for a step. Of opportunities: the last one is the end."""
    rows, last, length = 0, -1, 0
    held = step_ns or SINGLE_ROW_NS
    sums = _Sums()
    highest_bps: float | None = None
    bytes_offered, has_opportunities = 0, False
    least_delay: int | None = None
    highest_delay: int | None = None
    kept: tuple[int, int, int] | None = None
    has_loss = False
    for chunk in chunks:
        rows += len(chunk.at_ns)
        sums.outages.in_chunk(chunk)
        if chunk.opportunities is not None:
            has_opportunities = True
            bytes_offered += int(chunk.opportunities.sum())
            last = length = int(chunk.at_ns[-1])
            continue
        columns = [
            np.zeros(len(chunk.at_ns), dtype=np.int64) if column is None else column
            for column in (chunk.rate_bps, chunk.delay_ns, chunk.loss_2p32)
        ]
        at = chunk.at_ns
        if kept is not None:
            at = np.concatenate([[last], at])
            columns = [np.concatenate([[value], column]) for value, column in zip(kept, columns, strict=True)]
        spans = np.diff(at)
        _add(sums, spans, [column[:-1] for column in columns])
        if len(spans):
            held = int(spans[-1])
        last = int(at[-1])
        kept = (int(columns[0][-1]), int(columns[1][-1]), int(columns[2][-1]))
        has_loss = has_loss or chunk.loss_2p32 is not None
        if chunk.rate_bps is not None:
            highest_bps = max(highest_bps or 0.0, float(chunk.rate_bps.max()))
        if chunk.delay_ns is not None:
            low, high = int(chunk.delay_ns.min()), int(chunk.delay_ns.max())
            least_delay = low if least_delay is None else min(least_delay, low)
            highest_delay = high if highest_delay is None else max(highest_delay, high)
    if kept is not None:
        length = last + held
        _add(sums, np.array([held]), [np.array([value]) for value in kept])
        sums.outages.at_end(length)
    seconds = length / NS_PER_S
    lined = has_opportunities or highest_bps is not None
    return Summary(
        rows=rows,
        length_ns=length,
        mean_bps=(bytes_offered * 8 / seconds if has_opportunities else sums.bits / seconds) if lined else None,
        highest_bps=highest_bps,
        outages=sums.outages.count if lined else None,
        outage_ns=sums.outages.total_ns if lined else None,
        longest_outage_ns=sums.outages.longest_ns if lined else None,
        least_delay_ns=least_delay,
        mean_delay_ns=None if least_delay is None else sums.delay / length,
        highest_delay_ns=highest_delay,
        mean_loss=sums.loss / length / 2**32 if has_loss else None,
        opportunities=bytes_offered if has_opportunities else None,
    )


def _add(sums: _Sums, spans: Ints, columns: list[Ints]) -> None:
    rate, delay, loss = columns
    sums.bits += float((rate * (spans / NS_PER_S)).sum())
    sums.delay += float((delay * spans.astype(np.float64)).sum())
    sums.loss += float((loss * spans.astype(np.float64)).sum())
