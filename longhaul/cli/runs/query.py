"""`longhaul query`: questions in SQL over all kept runs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.query.engine import Answer, Engine

app = verb_app()

_EXAMPLES = """Examples:

  longhaul query "SELECT cc, avg(goodput_bps) FROM results GROUP BY cc"

  longhaul query --sweep SWEEP "SELECT rtt, cc, goodput_bps FROM points ORDER BY rtt_us" --to csv

  longhaul query "SELECT run, min(t_s) FROM drops GROUP BY run" -o first-losses.parquet

  longhaul query --tables

docs/querying.md has more, and describes every table."""


class AnswerFormat(StrEnum):
    """The formats."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


@dataclass(frozen=True)
class QueryOptions:
    """The options of `longhaul query`."""

    sql: Annotated[
        str | None, typer.Argument(metavar="SELECT", help="One SELECT in DuckDB's SQL; - reads it from standard input.")
    ] = None
    sweep: Annotated[
        str | None,
        typer.Option(metavar="SWEEP", help="Only the runs of an experiment: its name, or its id on the service."),
    ] = None
    to: Annotated[
        AnswerFormat | None,
        typer.Option("--to", help="The format; by default a table, or that of the ending of --output."),
    ] = None
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write the answer to.")] = None
    limit: Annotated[int, typer.Option(min=1, help="The most rows of a table on the terminal.")] = 100
    memory: Annotated[
        str,
        typer.Option(metavar="SIZE", help="The memory that the answer may take; the rest goes to a temporary folder."),
    ] = "1 GB"
    tables: Annotated[bool, typer.Option("--tables", help="List the tables with their columns.")] = False


@command(app, epilog=_EXAMPLES)
def query(options: QueryOptions) -> None:
    """Ask kept runs a question in SQL: their experiments, measures, and every record of their traces, as tables."""
    _answer(options)


def _answer(options: QueryOptions) -> None:
    if options.tables:
        _show_tables()
        return
    if options.sql is None:
        raise PlanError(
            "answering", "the query", "there is none", "give a SELECT; `longhaul query --help` has examples"
        )
    to = _format(options)
    from longhaul.orchestrator.analysis.query.engine import Engine
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings

    text = sys.stdin.read() if options.sql == "-" else options.sql
    with Engine(Store(load_settings()), options.sweep, _memory(options.memory)) as engine:
        if options.output is not None and to is not AnswerFormat.table:
            _write(engine, text, options.output, to.value)
            return
        with in_words("answering the query"):
            answer = engine.ask(text)
        {AnswerFormat.table: _print_table, AnswerFormat.csv: _print_csv, AnswerFormat.json: _print_json}[to](
            answer, options.limit
        )


def _format(options: QueryOptions) -> AnswerFormat:
    to, output = options.to, options.output
    if output is not None and to is None:
        ending = output.suffix.removeprefix(".").lower()
        if ending not in (AnswerFormat.csv, AnswerFormat.json, AnswerFormat.parquet):
            raise PlanError("writing", str(output), "its ending is no format", "give --to csv, json or parquet")
        return AnswerFormat(ending)
    if to is AnswerFormat.parquet and output is None:
        raise PlanError("writing", "the answer", "Parquet is no text", "name a file with --output")
    if to is AnswerFormat.table and output is not None:
        raise PlanError("writing", str(output), "a table is for the terminal", "give --to csv, json or parquet")
    return to or AnswerFormat.table


def _memory(written: str) -> str:
    from longhaul.orchestrator.system.units import parse_size

    try:
        size = parse_size(written)
    except ValueError as error:
        raise PlanError("reading", "--memory", str(error), "give a size with its unit, as in 2 GB") from None
    return f"{size} B"


def _write(engine: Engine, text: str, output: Path, to: str) -> None:
    from longhaul.cli.terminal.console import print_written
    from longhaul.orchestrator.system.files import whole

    with whole(output) as place, in_words("answering the query"):
        engine.write(text, place.absolute(), to)
    print_written(output)


def _print_table(answer: Answer, limit: int) -> None:
    from longhaul.cli.terminal.console import notes_console, plain_table, results_console

    rows = [dict(zip(answer.columns, map(_shown, row), strict=True)) for row in answer.rows(limit)]
    if not rows:
        print("  ".join(answer.columns))
    else:
        results_console().print(plain_table(rows))
    if next(answer.rows(1), None) is not None:
        hint = f"the first {limit} rows; --limit N shows more, --to csv and -o FILE have all"
        notes_console().print(hint, highlight=False)


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return value


def _print_csv(answer: Answer, _: int) -> None:
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(answer.columns)
    lines.writerows(answer.rows())


def _print_json(answer: Answer, _: int) -> None:
    print("[" + ",\n ".join(_json_rows(answer)) + "]")


def _json_rows(answer: Answer) -> Iterator[str]:
    for row in answer.rows():
        yield json.dumps(dict(zip(answer.columns, row, strict=True)), default=_plain)


def _plain(value: Any) -> Any:
    """What JSON has no form for: a number of a type of its own, or a time."""
    return float(value) if hasattr(value, "as_tuple") else str(value)


def _show_tables() -> None:
    from longhaul.cli.terminal.console import plain_table, results_console
    from longhaul.orchestrator.analysis.query.catalogue import table_rows

    results_console().print(plain_table(table_rows()))
