"""`longhaul explore`: what the swept fields of kept runs do, and the band of their repeats."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.exploration.bands import Band
    from longhaul.orchestrator.analysis.exploration.importance import Importance
    from longhaul.results.result import Result

app = verb_app()

_EXAMPLES = """Examples:

  longhaul explore SWEEP --measure "goodput(app)"

  longhaul explore SWEEP --band cwnd --flow app --at "rtt=40 ms" > bands.csv"""


@dataclass(frozen=True)
class ExploreOptions:
    """The options of `longhaul explore`."""

    sweep: Annotated[
        str, typer.Argument(metavar="SWEEP", help="An experiment with kept runs: its name, or its id on the service.")
    ]
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="The measure, as in 'goodput(app)', whose variance the fields explain; by default utilisation.",
        ),
    ] = None
    band: Annotated[
        str | None,
        typer.Option(
            metavar="SERIES",
            help="Print the mean of a series of `longhaul list series` over the repeats instead, with its 95 % band, as CSV.",
        ),
    ] = None
    flow: Annotated[str | None, typer.Option(help="The flow of --band.")] = None
    link: Annotated[
        str | None, typer.Option(help="The link of --band; without a flow and a link, the first bottleneck.")
    ] = None
    at: Annotated[
        str | None, typer.Option(metavar="POINT", help="Only points with these values, as in 'rtt=40 ms, cc=bbr'.")
    ] = None
    points: Annotated[int, typer.Option(min=4, help="The most instants of --band.")] = 200
    as_json: JsonOption = False


@command(app, epilog=_EXAMPLES)
def explore(options: ExploreOptions) -> None:
    """Show how much of a measure each swept field explains, over the kept runs of a sweep; or the band of repeats over time."""
    from longhaul.laboratory.kept_sweeps import kept_sweep
    from longhaul.orchestrator.system.errors import SpecError

    if options.band is None and (options.flow or options.link):
        name = "--flow" if options.flow else "--link"
        raise SpecError(name, ["it chooses the series of --band; a measure names its flow: --measure 'goodput(app)'"])
    if options.band is not None and options.measure is not None:
        raise SpecError("--measure", ["it is another question than --band; give one of them"])
    result = kept_sweep(options.sweep)
    if options.at is not None:
        result = result.at(options.at)
    if options.band is None:
        _show_importance(result, options.measure or "utilisation", as_json=options.as_json)
    else:
        _show_bands(result, options)


def _show_importance(result: Result, measure: str, *, as_json: bool) -> None:
    from longhaul.orchestrator.analysis.exploration.importance import METHOD

    found = result.importance(measure)
    if as_json:
        print(json.dumps({"experiment": result.experiment, "measure": measure, "method": METHOD, **asdict(found)}))
        return
    from longhaul.cli.terminal.console import plain_table, results_console

    print(f"{result.experiment}: {measure}, {found.runs} runs at {found.points} points")
    results_console().print(plain_table(list(_rows(found, measure))))
    for note in (METHOD, *found.notes):
        print(f"note: {note}", file=sys.stderr)


def _rows(found: Importance, measure: str) -> Iterator[dict[str, str]]:
    from longhaul.orchestrator.spec.amounts import say_amount
    from longhaul.orchestrator.spec.measures import MEASURES

    name = measure.partition("(")[0].strip()
    for field in found.fields:
        means = ", ".join(
            f"{level.value}: {say_amount(name, level.mean) if name in MEASURES else f'{level.mean:.6g}'}"
            for level in field.levels
        )
        yield {"field": " and ".join(field.fields), "share": f"{field.share:.1%}", "means": means}
    left = "interactions" if found.noise is not None else "interactions and noise"
    yield {"field": left, "share": f"{found.interactions:.1%}", "means": ""}
    if found.noise is not None:
        yield {"field": "noise between repeats", "share": f"{found.noise:.1%}", "means": ""}


def _show_bands(result: Result, options: ExploreOptions) -> None:
    assert options.band is not None
    from longhaul.orchestrator.plan.run import point_text

    bands = [
        (point, result.at(point).band(options.band, flow=options.flow, link=options.link, points=options.points))
        for point in result.points
    ]
    if options.as_json:
        print(json.dumps([{"point": point, **_plain(band)} for point, band in bands]))
        return
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(["point", "of", "t_s", "mean", "low", "high", "runs"])
    for point, band in bands:
        for row in zip(band.t_s, band.mean, band.low, band.high, band.runs, strict=True):
            t_s, *numbers, runs = row
            texts = ["" if math.isnan(number) else f"{number:.6g}" for number in numbers]
            lines.writerow([point_text(point), band.about, f"{t_s:.6f}", *texts, int(runs)])


def _plain(band: Band) -> dict[str, Any]:
    """For JSON, where what is not known is null."""
    columns = {
        name: [None if math.isnan(number) else number for number in getattr(band, name).tolist()]
        for name in ("t_s", "mean", "low", "high", "runs")
    }
    return {"series": band.measure, "of": band.about, "unit": band.unit, **columns}
