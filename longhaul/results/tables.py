"""The tables of results as rows of text, the same for a terminal, a notebook and a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.preview.flow_text import NO_ANSWER, control_text, unanswered
from longhaul.orchestrator.system.units import format_rate

Row = dict[str, str]
Document = Mapping[str, Any]
Column = tuple[str, str, Callable[[float], str]]

# The columns of numbers, which are aligned to the right.
TEXT_COLUMNS = ("run", "point", "seed", "flow", "cc", "measure", "verdict")
FAILED = "failed"

# The columns of requests, where any flow has them.
_REQUESTS = ("requests", "lost", "request p50", "request p99")
# Those of rounds, where any flow or total has them.
_ROUNDS = ("rounds", "round p50", "round p99")
_NUMBERS = ("goodput", "RTT p50", "RTT p95", "cwnd", "retransmits", "completion")

# The columns of a summary: title, key in the rows, how a value is written.
_OF_FLOWS: tuple[Column, ...] = (
    ("goodput", "goodput_bps", format_rate),
    ("RTT p50", "rtt_ms.p50", lambda value: f"{value:.1f} ms"),
    ("retransmits", "retransmits", lambda value: f"{value:.0f}"),
    ("completion", "completion_s", lambda value: f"{value:.3f} s"),
    ("requests", "requests.completed", lambda value: f"{value:.0f}"),
    ("lost", "requests.lost", lambda value: f"{value:.0f}"),
    ("request p50", "requests.time_ms.p50", lambda value: f"{value:.3f} ms"),
    ("request p99", "requests.time_ms.p99", lambda value: f"{value:.3f} ms"),
    ("rounds", "rounds.completed", lambda value: f"{value:.0f}"),
    ("round p50", "rounds.time_ms.p50", lambda value: f"{value:.3f} ms"),
    ("round p99", "rounds.time_ms.p99", lambda value: f"{value:.3f} ms"),
)
_OF_PATHS: tuple[Column, ...] = (
    ("all flows", "goodput_total", format_rate),
    ("utilisation", "utilisation", lambda value: f"{value:.1%}"),
    ("queue", "queue_packets.mean", lambda value: f"{value:.1f}"),
    ("Jain", "jain", lambda value: f"{value:.4f}"),
)


def flow_rows(documents: Sequence[Document]) -> list[Row]:
    """One row for each flow of each run, and one for all flows of a run that has several."""
    rows: list[Row] = []
    asked = any("requests" in flow for document in documents for flow in _flows(document))
    rounds = any("rounds" in one for document in documents for one in (*_flows(document), *document.get("totals", ())))
    columns = ("flow", "cc", *_NUMBERS, *(_REQUESTS if asked else ()), *(_ROUNDS if rounds else ()))
    for document in documents:
        start = (
            {"run": document["run"][:8], "point": point_text(document["point"]), "seed": str(document["seed"])}
            if len(documents) > 1
            else {}
        )
        found = [
            dict(zip(("flow", "cc", *_NUMBERS), _flow_cells(flow), strict=True)) | _request_cells(flow)
            for flow in _flows(document)
        ]
        found += [_total_cells(total) for total in document.get("totals", ())]
        if len(found) > 1 and document.get("goodput_total") is not None:
            # Older documents have no totals.
            completion = number_text(document.get("fct_max"), " s", digits=3)
            total = {"flow": "all flows", "goodput": format_rate(document["goodput_total"]), "completion": completion}
            found.append(total)
        if not found:
            found.append({"flow": document["status"]})
        for position, cells in enumerate(found):
            heads = start if position == 0 else dict.fromkeys(start, "")
            rows.append(heads | {name: cells.get(name, "") for name in columns})
    return rows


def summary_rows(rows: Sequence[Document]) -> list[Row]:
    """Aggregates over repeats: one row for each point and flow; those of the path are in the row of a point's first flow."""
    known: dict[tuple[str, str | None], dict[str, Document]] = {}
    for row in rows:
        place = ", ".join(filter(None, [point_text(row["point"]), row.get("phase")]))
        known.setdefault((place, row["flow"]), {})[row["measure"]] = row
    flows = [place for place in known if place[1] is not None]
    used = {measure for values in known.values() for measure in values}
    if len({flow for _, flow in flows}) < 2:
        # A single flow is its own total.
        used.discard("goodput_total")
    of_flows, of_paths = ([column for column in group if column[1] in used] for group in (_OF_FLOWS, _OF_PATHS))
    table: list[Row] = []
    last: str | None = None
    for point, flow in flows:
        first = point != last
        path = known.get((point, None), {}) if first else {}
        found = known[point, flow]
        repeats = str(max(row["n"] for row in found.values()))
        cells = {"point": point if first else "", "flow": str(flow), "n": repeats}
        cells |= {title: _interval(found.get(key), text) for title, key, text in of_flows}
        cells |= {title: _interval(path.get(key), text) for title, key, text in of_paths}
        table.append(cells)
        last = point
    return table


def text_table(rows: Sequence[Row]) -> str:
    """The rows with aligned columns."""
    if not rows:
        return ""
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    lines = [
        "  ".join(
            cell.ljust(widths[name]) if name in TEXT_COLUMNS else cell.rjust(widths[name])
            for name, cell in zip(widths, cells, strict=True)
        ).rstrip()
        for cells in (list(widths), *(list(row.values()) for row in rows))
    ]
    return "\n".join(lines)


def number_text(value: float | None, unit: str, digits: int = 1) -> str:
    """A number with its unit; a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}f}{unit}"


def _flows(document: Document) -> Sequence[Document]:
    flows: Sequence[Document] = document.get("flows", [])
    return flows


def _flow_cells(flow: Document) -> list[str]:
    rtt, cwnd = flow["rtt_ms"] or {}, flow["cwnd_packets"] or {}
    return [
        flow["name"],
        control_text(flow["cc"], flow["variant"]),
        format_rate(flow["goodput_bps"]),
        number_text(rtt.get("p50"), " ms"),
        number_text(rtt.get("p95"), " ms"),
        number_text(cwnd.get("mean"), ""),
        number_text(flow["retransmits"], "", digits=0),
        NO_ANSWER if unanswered(flow) else number_text(flow["completion_s"], " s", digits=3),
    ]


def _total_cells(total: Document) -> Row:
    """Several flows together, below them."""
    return {
        "flow": total["name"],
        "cc": f"{total['flows']} {'connections' if 'requests' in total else 'streams'}",
        "goodput": format_rate(total["goodput_bps"]),
        "retransmits": number_text(total["retransmits"], "", digits=0),
        "completion": number_text(total["completion_s"], " s", digits=3),
        **_request_cells(total),
    }


def _request_cells(flow: Document) -> Row:
    """The requests and the rounds of a flow or a total; none of others."""
    cells: Row = {}
    for titles, part in ((_REQUESTS, "requests"), (_ROUNDS, "rounds")):
        if (numbers := flow.get(part)) is None:
            continue
        times = numbers["time_ms"] or {}
        counts = (str(numbers[name]) for name in ("completed", "lost") if name in numbers)
        texts = (number_text(times.get(name), " ms", digits=3) for name in ("p50", "p99"))
        cells |= dict(zip(titles, (*counts, *texts), strict=True))
    return cells


def _interval(row: Document | None, text: Callable[[float], str]) -> str:
    """A value, with its interval if there are several runs."""
    if row is None:
        return ""
    value = text(row["value"])
    return value if row["n"] == 1 else f"{value} ({text(row['low'])} - {text(row['high'])})"
