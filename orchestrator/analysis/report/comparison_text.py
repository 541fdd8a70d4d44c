"""A comparison as text: the rows of its table, its sentences, and a Markdown summary for a pull request."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.analysis.compare import (
    BETTER,
    CHANGED,
    MISSING,
    NO_VERDICT,
    UNCLEAR,
    VERDICTS,
    WORSE,
    Comparison,
    Row,
)
from longhaul.orchestrator.analysis.pairing import run_text
from longhaul.orchestrator.analysis.values import flow_names
from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.units import format_rate, format_share
from longhaul.orchestrator.trace.records import (
    EVENT_COMPLETED,
    EVENT_CONNECTED,
    EVENT_END,
    EVENT_FLOW_CHANGE,
    EVENT_PATH_CHANGE,
    EVENT_STOPPED,
)

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.recordings.recording import Recording
    from longhaul.orchestrator.analysis.trace_differences import TraceDifference

# More than this many runs or rows are counted instead of named.
_NAMED = 5
_MARKDOWN_ROWS = 40
_CHANGES = (MISSING, WORSE, BETTER, CHANGED, NO_VERDICT)
# The records of a trace, as sentences name them.
_RECORDS = {
    "ack": "an ACK",
    "flow": "a receiver's count",
    "link": "a queue's count",
    "drop": "a drop",
    "event": "an event",
    "state": "a congestion control's state",
}
_EVENTS = {
    EVENT_CONNECTED: "connected",
    EVENT_STOPPED: "stopped",
    EVENT_COMPLETED: "completed",
    EVENT_PATH_CHANGE: "change of the path",
    EVENT_END: "end of the run",
    EVENT_FLOW_CHANGE: "change of a flow or module",
}
_UNITS = {"milliseconds": " ms", "seconds": " s", "packets": " packets", "size": " B"}


def as_json(comparison: Comparison, differences: Sequence[TraceDifference] | None = None) -> dict[str, Any]:
    """The whole comparison as plain data; with the differences of the traces, if they were looked for."""
    pairing = comparison.pairing
    rows = None if differences is None else [{"text": difference_line(one), **one.as_dict()} for one in differences]
    traces = {} if rows is None else {"trace_differences": rows}
    recorded = {"recorded": [_recorded(one) for one in comparison.recorded]} if comparison.recorded else {}
    return (
        traces
        | recorded
        | {
            "a": comparison.a,
            "b": comparison.b,
            "pairs": [[first["run"], second["run"]] for first, second in pairing.pairs],
            "only_a": [_run(one) for one in pairing.only_a],
            "only_b": [_run(one) for one in pairing.only_b],
            "failed": [_run(one) for one in _failed(comparison)],
            "identical": comparison.identical,
            "differs": [asdict(one) for one in comparison.differs],
            "min_effect": comparison.least,
            "gated": comparison.gated,
            "ok": not comparison.fails,
            "verdict": verdict_line(comparison),
            "programs": other_programs(comparison),
            "notes": list(notes(comparison)),
            "measures": [row.as_dict() for row in comparison.rows],
        }
    )


def _recorded(one: Recording) -> dict[str, Any]:
    """A recording with its series, in the panels of a run's charts."""
    return {
        "name": one.name,
        "tool": one.tool,
        "flows": [flow.name for flow in one.flows],
        "panels": [
            {
                "title": panel.title,
                "unit": panel.unit,
                "series": [
                    {"label": line.label, "t_s": line.x_s.round(9).tolist(), "value": line.y.tolist()}
                    for line in panel.series
                ],
            }
            for panel in one.panels()
        ],
    }


def difference_line(one: TraceDifference) -> str:
    """The first difference of two traces in one sentence."""
    about = f" of {one.of}" if one.of else ""
    before = f", after {count_text(one.record - 1, 'equal one')}" if one.record > 1 else ""
    side = "" if one.a and one.b else " that B does not have" if one.a else " that A does not have"
    return f"the traces of {one.run_a} and {one.run_b} differ from {_exact(one.t_s)} s on: {_record_text(one)}{about}{side}{before}"


def difference_cells(one: TraceDifference) -> list[dict[str, str]]:
    """Both sides of that record, field by field, those that differ first."""
    ordered = sorted(one.earlier, key=lambda name: name not in one.fields)
    return [
        {"field": name, "A": _field(one.a, name), "B": _field(one.b, name), "": "differs" if name in one.fields else ""}
        for name in ordered
    ]


def _record_text(one: TraceDifference) -> str:
    known = _EVENTS.get(one.earlier["what"]) if one.kind == "event" else None
    return f"{_RECORDS[one.kind]} ({known})" if known else _RECORDS[one.kind]


def _field(record: Mapping[str, int] | None, name: str) -> str:
    return "-" if record is None else str(record[name])


def _exact(t_s: float) -> str:
    return f"{t_s:.9f}".rstrip("0").rstrip(".")


def _run(document: RunDocument) -> dict[str, Any]:
    return {"run": document["run"], "point": document["point"], "seed": document["seed"]}


def shown_rows(rows: Sequence[Row], *, everything: bool) -> list[Row]:
    """All rows, or the gated ones and those that changed; the most important verdicts first."""
    chosen = [row for row in rows if everything or row.gates or row.verdict in _CHANGES]
    if everything:
        return chosen
    return sorted(chosen, key=lambda row: (not row.gates, VERDICTS.index(row.verdict)))


def cells(row: Row) -> dict[str, str]:
    """A row of the table."""
    return {
        "point": place_text(row),
        "measure": measure_text(row),
        "n": str(row.n),
        "a": amount_text(row.measure, row.a),
        "b": amount_text(row.measure, row.b),
        "change": change_text(row),
        "verdict": f"{outcome(row)}{' *' if row.gates else ''}",
    }


def place_text(row: Row) -> str:
    """The point and phase of a row."""
    return ", ".join(filter(None, (point_text(row.point), row.phase)))


def measure_text(row: Row) -> str:
    """The measure of a row, as in --for."""
    return f"{row.measure}({row.flow})" if row.flow else row.measure


def amount_text(measure: str, value: float | None) -> str:
    """A value in the unit of its measure; expressions have none."""
    if value is None:
        return ""
    kind = MEASURES[measure].quantity if measure in MEASURES else "number"
    if kind == "rate":
        return format_rate(float(value))
    return f"{100 * value:.4g} %" if kind == "share" else f"{value:.4g}{_UNITS.get(kind, '')}"


def change_text(row: Row) -> str:
    """The effect and its interval."""
    if row.effect is None:
        return ""
    if math.isinf(row.effect):
        return "from 0"
    if row.effect_low is None or row.effect_high is None:
        return f"{_percent(row.effect)} %"
    return f"{_percent(row.effect)} % ({_percent(row.effect_low)} to {_percent(row.effect_high)} %)"


def _percent(share: float) -> str:
    return f"{100 * share:+.2f}" if share else "0"


def outcome(row: Row) -> str:
    """The verdict, with the seeds that an unclear one needs."""
    if row.verdict == UNCLEAR and row.seeds is not None:
        return f"unclear, about {row.seeds} seeds" if row.seeds <= 1000 else "unclear, more than 1000 seeds"
    if row.verdict == MISSING:
        return f"missing in {row.lacking} of B"
    return row.verdict


def sides_line(comparison: Comparison) -> str:
    """The names of A and B."""
    return f"A: {comparison.a}, B: {comparison.b}"


def verdict_line(comparison: Comparison) -> str:
    """How many rows of each verdict, in one sentence."""
    pairs = len(comparison.pairing.pairs)
    if comparison.identical:
        return f"identical: the traces of {count_text(pairs, 'pair')} are identical"
    counts = {word: sum(row.verdict == word for row in comparison.rows) for word in VERDICTS}
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"different: of {count_text(len(comparison.rows), 'comparison')} over {count_text(pairs, 'pair')}, {listed or 'none possible'}"


def gate_line(comparison: Comparison) -> str:
    """The gate's result."""
    gates = [row for row in comparison.rows if row.gates]
    failed = [row for row in gates if row.fails]
    least = format_share(comparison.least)
    if failed:
        named = "; ".join(gate_text(row) for row in failed[:_NAMED])
        more = f"; and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        return f"gate: {len(failed)} of {len(gates)} fail: {named}{more}"
    unclear = sum(row.verdict == UNCLEAR for row in gates)
    doubt = f", but {unclear} unclear" if unclear else ""
    return f"gate: holds, none of {count_text(len(gates), 'comparison')} is worse by {least} or more{doubt}"


def gate_text(row: Row) -> str:
    """A gated row in one sentence."""
    place = place_text(row)
    at = f" at {place}" if place else ""
    if row.verdict == MISSING:
        return f"{measure_text(row)}{at} has no value in {row.lacking} runs of B"
    return (
        f"{measure_text(row)}{at}: {outcome(row)}, {amount_text(row.measure, row.a)} to "
        f"{amount_text(row.measure, row.b)}, {change_text(row)}"
    )


def notes(comparison: Comparison) -> Iterator[str]:
    """Notes on the numbers: runs without partners or numbers, pairs of different runs, single seeds."""
    pairing = comparison.pairing
    for side, alone in (("A", pairing.only_a), ("B", pairing.only_b)):
        if alone:
            yield f"{count_text(len(alone), 'run')} of {side} without a partner: {_named(alone)}"
    if failed := _failed(comparison):
        yield f"{count_text(len(failed), 'failed run')}: {_named(failed)}"
    for one, other in ((0, 1), (1, 0)):
        if unmatched := _flows(comparison, one) - _flows(comparison, other):
            yield f"flows that only {'AB'[one]} has: {', '.join(sorted(unmatched))}"
    if comparison.differs:
        yield f"the runs of A and B differ in {', '.join(one.text for one in comparison.differs)}"
    yield from comparison.about_recorded
    first, second = pairing.pairs[0]
    if run_text(first) != run_text(second):
        yield f"one run each, taken as a pair: {run_text(first)} with {run_text(second)}"
    if mixed := {(one["kernel"], other["kernel"]) for one, other in pairing.pairs if _kernels_differ(one, other)}:
        yield f"the kernels differ: {', '.join(f'{one} and {other}' for one, other in sorted(mixed))}"
    if others := other_programs(comparison):
        named = "; ".join(f"{name} {a[:12]} in A, {b[:12]} in B" for name, (a, b) in others.items())
        yield f"the runs have different identities, as their programs differ: {named}"
    caveats = dict.fromkeys(one["caveat"] for pair in pairing.pairs for one in pair if "caveat" in one)
    yield from list(caveats)[:_NAMED]
    if any(row.n == 1 for row in comparison.rows):
        gate = ", and a gate takes its difference as it is" if comparison.gated else ""
        yield f"one pair has no interval: so its differences get no verdict{gate}; use more seeds (--repeats)"


def other_programs(comparison: Comparison) -> dict[str, tuple[str, str]]:
    """Programs of which A and B used different builds, kernel and agent first: name -> (hash in A, hash in B), of the first pair that differs.

    Point and seed make a pair, whatever its programs: a baseline outlives the kernel that it was measured on.
    """
    found: dict[str, tuple[str, str]] = {}
    for first, second in comparison.pairing.pairs:
        then, now = first.get("identity"), second.get("identity")
        if then and now:
            names = sorted({*then, *now}, key=lambda name: (name != "kernel", name != "agent", name))
            for name in names:
                if then.get(name) != now.get(name):
                    found.setdefault(name, (then.get(name, "none"), now.get(name, "none")))
    return found


def _flows(comparison: Comparison, side: int) -> set[str]:
    return {name for pair in comparison.pairing.pairs for name in flow_names(pair[side])}


def _kernels_differ(one: RunDocument, other: RunDocument) -> bool:
    return "kernel" in one and "kernel" in other and one["kernel"] != other["kernel"]


def _failed(comparison: Comparison) -> list[RunDocument]:
    return [one for pair in comparison.pairing.pairs for one in pair if one["status"] == "failed"]


def _named(documents: Sequence[RunDocument]) -> str:
    more = f"; and {len(documents) - _NAMED} more" if len(documents) > _NAMED else ""
    return "; ".join(run_text(one) for one in documents[:_NAMED]) + more


def count_text(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def markdown(comparison: Comparison) -> str:
    """The summary that a bot adds to a pull request."""
    return "\n".join(_markdown(comparison)) + "\n"


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield f"### {plain(sides_line(comparison))}\n"
    if comparison.gated:
        yield f"{'❌' if comparison.fails else '✅'} {plain(gate_line(comparison))}\n"
    yield f"{plain(verdict_line(comparison))[0].upper()}{plain(verdict_line(comparison))[1:]}.\n"
    rows = shown_rows(comparison.rows, everything=False)
    if rows:
        yield "| point | measure | n | A | B | change | verdict |"
        yield "|---|---|---|---|---|---|---|"
    for row in rows[:_MARKDOWN_ROWS]:
        yield f"| {' | '.join(plain(cell) for cell in cells(row).values())} |"
    if len(rows) > _MARKDOWN_ROWS:
        yield f"\nAnd {len(rows) - _MARKDOWN_ROWS} more rows."
    if comparison.gated:
        yield "\n\\* gated."
    for note in notes(comparison):
        yield f"\n{plain(note)}."


def plain(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    for sign in "\\|*_<>`[]":
        text = text.replace(sign, f"\\{sign}")
    return text
