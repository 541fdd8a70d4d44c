"""The output on a terminal: tables and lines. Nothing here computes a number."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from longhaul.orchestrator.system.errors import sentence, visible
from longhaul.orchestrator.system.units import format_rate
from longhaul.results.tables import FAILED, TEXT_COLUMNS, flow_rows, summary_rows

# More than this many lines of progress or result are counted instead of listed.
MANY = 12
_PIPE_COLUMNS = 280
# The width of a row's name, so that the rest fits.
_LONGEST_NAME = 24

Document = Mapping[str, Any]


def notes_console() -> Console:
    """Notes go to standard error."""
    return Console(stderr=True)


def results_console() -> Console:
    """Results go to standard output; in a file or a pipe, tables have any width."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPE_COLUMNS)


def flow_table(documents: Sequence[Mapping[str, Any]]) -> Table:
    """One line for each flow of each run, with the most important numbers."""
    rows = flow_rows(documents)
    table = Table(title=None, header_style="bold", pad_edge=False, box=None)
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name in TEXT_COLUMNS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, "red" if (name, cell) == ("flow", FAILED) else "") for name, cell in row.items()))
    return table


def link_lines(document: Document) -> list[str]:
    """One line for each followed link, each policer and ACK filters; the first also has the fairness between flows."""
    # Documents from before several links could be followed have the first only.
    links = document.get("links") or [{"name": "bottleneck", **document["path"]}]
    lines = [_link_line(link) for link in links[:MANY]]
    if len(links) > MANY:
        lines.append(f"and {len(links) - MANY} more links")
    lines += [_policer_line(policer) for policer in document.get("policers", ())[:MANY]]
    if (filtered := document.get("acks_filtered")) is not None:
        lines.append(f"ACK filters: {filtered} acknowledgements dropped")
    jain = document.get("jain")
    return lines if jain is None else [f"{lines[0]} · Jain {jain:.4f}", *lines[1:]]


def _policer_line(policer: Document) -> str:
    return f"policer of {policer['name']}: {policer['policed']} dropped · {policer['passed']} passed"


def phase_lines(document: Document) -> list[str]:
    """One line for each phase of the experiment."""
    return [_phase_line(name, measured) for name, measured in document.get("phases", {}).items()]


def _phase_line(name: str, measured: Document) -> str:
    flows = (f"{flow['name']} {format_rate(flow['goodput_bps'])}" for flow in measured["flows"][:MANY])
    more = f" and {len(measured['flows']) - MANY} more flows" if len(measured["flows"]) > MANY else ""
    return (
        f"{name}, {measured['from_s']:g} s to {measured['to_s']:g} s: {', '.join(flows)}{more} · "
        f"{_utilisation(measured['path'])}"
    )


def _utilisation(link: Document) -> str:
    share = link["utilisation"]
    return f"{format_rate(link['throughput_bps'])}, no known rate" if share is None else f"utilisation {share:.1%}"


def _link_line(link: Document) -> str:
    queue = link["queue_packets"]
    return (
        f"{link['name']}: {_utilisation(link)} · {link['drops']} drops · {link['marks']} marks · "
        f"queue mean {queue['mean']:.1f}, p95 {queue['p95']:.0f}, max {queue['max']} packets"
    )


def clock_line(document: Document) -> str:
    """The time that the run took, or that it came from the store."""
    if document["cached"]:
        took = f"answered from the store (it took {document['wall_s']:.2f} s of wall time when it ran)"
        return took + (f", kernel {document['kernel']}{own}" if (own := _own_kernel(document)) else "")
    speed = document["virtual_s"] / max(document["wall_s"], 1e-9)
    return f"{document['virtual_s']:g} s of {document.get('clock', 'virtual')} time in {document['wall_s']:.2f} s of wall time ({speed:.1f} x){_in_parts(document)}, kernel {document['kernel']}{_own_kernel(document)}"


def _in_parts(document: Document) -> str:
    return f" in {document['parts']} guests" if "parts" in document else ""


def _own_kernel(document: Document) -> str:
    return f" ({document['kernel_parts']['about']})" if "kernel_parts" in document else ""


def fidelity_line(document: Document) -> str:
    """How many fidelity checks the run passed."""
    return f"fidelity: {len(document['fidelity']['checks'])} checks passed"


def expectation_lines(document: Document) -> list[str]:
    """One line for each expectation."""
    return [
        f"{'met   ' if expectation['ok'] else 'MISSED'} {expectation['text']}" for expectation in document["expect"]
    ]


def problem_lines(document: Document) -> list[str]:
    """Why a run failed, or what it missed."""
    if document["status"] == "failed":
        return [f"{document['run'][:8]} failed: {sentence(document['error'])}"]
    return [f"{document['run'][:8]} missed: {one['text']}" for one in document["expect"] if not one["ok"]]


def count_line(documents: Sequence[Document]) -> str:
    """The number of runs, by status."""
    counts = Counter(document["status"] for document in documents)
    cached = sum(document["cached"] for document in documents)
    ended = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{len(documents)} runs: {ended}{f', {cached} of them answered from the store' if cached else ''}"


def summary_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Aggregates over repeats: a line for each point and flow."""
    found = summary_rows(rows)
    table = Table(header_style="bold", pad_edge=False, box=None)
    for name in found[0] if found else ():
        table.add_column(name, justify="left" if name in (*TEXT_COLUMNS, "n") else "right", no_wrap=True)
    for row in found:
        table.add_row(*(Text(cell) for cell in row.values()))
    return table


def plain_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Rows of one shape with a column for each key; stored text is neither markup nor a control sequence."""
    table = Table(header_style="bold", pad_edge=False, box=None)
    for index, column in enumerate(rows[0] if rows else ()):
        # The first column is the row's name, which users copy.
        name = index == 0 and all(len(_cell(row[column])) <= _LONGEST_NAME for row in rows)
        table.add_column(column, no_wrap=name)
    for row in rows:
        table.add_row(*(Text("\n".join(map(visible, _cell(value).splitlines()))) for value in row.values()))
    return table


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_item, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _item(value: Any) -> str:
    """A parameter as its name and default; programs get all fields."""
    if not isinstance(value, dict):
        return str(value)
    return f"{value['name']}={value['default']}" if value["default"] else str(value["name"])


def print_written(*files: Path | None) -> None:
    """Print the names of the written files."""
    for file in files:
        if file is not None:
            notes_console().print(f"written: {file}", highlight=False, markup=False, soft_wrap=True)
