"""A whole recording in a few numbers, in one pass over its file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import NS_PER_S, Chunks, Ints, Summary

# A recording of a single row holds so long, unless the length of its rows is given.
SINGLE_ROW_NS = NS_PER_S
# A gap between opportunities that counts as an outage: cellular links pause for some milliseconds all the time.
OUTAGE_NS = 100_000_000


@dataclass(slots=True)
class _Sums:
    """Integrals over the rows that have an end."""

    bits: float = 0.0
    outage_ns: int = 0
    longest_ns: int = 0
    running_ns: int = 0
    delay: float = 0.0
    loss: float = 0.0


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
        if chunk.opportunities is not None:
            has_opportunities = True
            bytes_offered += int(chunk.opportunities.sum())
            gaps = np.diff(chunk.at_ns, prepend=max(last, 0))
            sums.outage_ns += int(gaps[gaps > OUTAGE_NS].sum())
            sums.longest_ns = max(sums.longest_ns, int(gaps.max(initial=0)))
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
        _add(sums, spans, [column[:-1] for column in columns], rated=chunk.rate_bps is not None)
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
        _add(sums, np.array([held]), [np.array([value]) for value in kept], rated=highest_bps is not None)
    seconds = length / NS_PER_S
    lined = has_opportunities or highest_bps is not None
    return Summary(
        rows=rows,
        length_ns=length,
        mean_bps=(bytes_offered * 8 / seconds if has_opportunities else sums.bits / seconds) if lined else None,
        highest_bps=highest_bps,
        outage_ns=sums.outage_ns if lined else None,
        longest_outage_ns=sums.longest_ns if lined else None,
        least_delay_ns=least_delay,
        mean_delay_ns=None if least_delay is None else sums.delay / length,
        highest_delay_ns=highest_delay,
        mean_loss=sums.loss / length / 2**32 if has_loss else None,
        opportunities=bytes_offered if has_opportunities else None,
    )


def _add(sums: _Sums, spans: Ints, columns: list[Ints], *, rated: bool) -> None:
    rate, delay, loss = columns
    sums.bits += float((rate * (spans / NS_PER_S)).sum())
    sums.delay += float((delay * spans.astype(np.float64)).sum())
    sums.loss += float((loss * spans.astype(np.float64)).sum())
    if not rated:
        return
    sums.outage_ns += int(spans[rate == 0].sum())
    for span, bps in zip(spans.tolist(), rate.tolist(), strict=True):
        sums.running_ns = sums.running_ns + span if bps == 0 else 0
        sums.longest_ns = max(sums.longest_ns, sums.running_ns)
