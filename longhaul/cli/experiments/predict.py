"""`longhaul predict`: how long a transfer will take on a path, and with which settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JobsOption, JsonOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_FAILED
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.results.prediction import Prediction

app = verb_app()


@dataclass(frozen=True)
class PredictOptions:
    """The options of `longhaul predict`."""

    size: Annotated[str, typer.Option(metavar="SIZE", help="How much to transfer, as in 2TB.")]
    path: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="The path, as in '2 Gbit/s, 280 ms, loss 1e-5, buffer 20 ms', or the .json file of `hosts measure --json`.",
        ),
    ]
    streams: Annotated[str, typer.Option(metavar="N,...", help="Numbers of parallel streams to try.")] = "1,4"
    cc: Annotated[
        str, typer.Option(metavar="NAME,...", help="Congestion controls to try; all: cubic, bbr and htcp.")
    ] = "all"
    within: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="More runs are made until the interval is this close, if they are worth it."
        ),
    ] = "5 %"
    jobs: JobsOption = None
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write the experiment of the fastest candidate.")
    ] = None
    verify: Annotated[
        str | None,
        typer.Option(
            metavar="FROM,TO",
            help="Run a short transfer of the fastest candidate between these real hosts, and compare its time.",
        ),
    ] = None
    as_json: JsonOption = False


@command(app)
def predict(options: PredictOptions) -> int:
    """Predict how long a transfer takes on a path, by congestion control and number of streams, and print the settings for it."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.cli.terminal.progress import shown_progress
    from longhaul.laboratory import predictions
    from longhaul.orchestrator.spec.yaml_text import document_text
    from longhaul.orchestrator.system.errors import PlanError
    from longhaul.orchestrator.system.files import check_places, write_whole
    from longhaul.orchestrator.system.units import parse_share

    check_places(options.write)
    try:
        within = parse_share(options.within)
    except ValueError as error:
        raise PlanError("reading --within", options.within, str(error), "write it as in 5 %") from None
    hosts = _pair(options.verify)
    found = predictions.predict(
        options.size, options.path, streams=options.streams, cc=options.cc, within=within, jobs=options.jobs,
        watcher=partial(shown_progress, "predict", quiet=options.as_json),
    )  # fmt: skip
    best = found.best
    sample = None
    if hosts is not None and best is not None:
        sample = predictions.verify(
            found, hosts, jobs=options.jobs, watcher=partial(shown_progress, "predict", quiet=options.as_json)
        )
    if options.write is not None and best is not None:
        remark = f"The start-up and the steady state of {best['streams']} streams of {best['cc']}, written by `longhaul predict`."
        write_whole(options.write, document_text(best["experiment"], [remark]))
    if options.as_json:
        print(json.dumps({**found.document, **({} if sample is None else {"sample": sample})}))
    else:
        _print(found)
        if sample is not None:
            _print_sample(sample)
        print_written(options.write if best is not None else None)
    return EXIT_DONE if best is not None else EXIT_FAILED


def _pair(text: str | None) -> tuple[str, str] | None:
    from longhaul.orchestrator.system.errors import PlanError

    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise PlanError("reading --verify", text, "it does not name two hosts", "write it as in alpha,beta")
    return names[0], names[1]


def _print_sample(sample: Mapping[str, Any]) -> None:
    from longhaul.orchestrator.system.units import format_size
    from longhaul.results.prediction import long_time

    what = f"a sample of {format_size(sample['size_bytes'])} from {sample['hosts'][0]} to {sample['hosts'][1]}"
    predicted = (
        f"predicted {long_time(sample['predicted_s'])} ({long_time(sample['low_s'])} to {long_time(sample['high_s'])})"
    )
    if sample["measured_s"] is None:
        print(
            f"{what}: {predicted}, and only {format_size(sample['measured_bytes'])} arrived within the run {sample['run']}"
        )
    else:
        print(
            f"{what}: {predicted}, measured {long_time(sample['measured_s'])}, {sample['off']:+.1%}; run {sample['run']}"
        )


def _print(found: Prediction) -> None:
    from longhaul.cli.terminal.console import plain_table, results_console
    from longhaul.orchestrator.system.units import format_rate, format_size
    from longhaul.results.prediction import long_time

    results_console().print(plain_table(found.table()))
    for fault in found["faults"]:
        error = fault["error"]
        print(f"{fault['cc']} with {fault['streams']} streams: {error['what']}")
    print(
        f"{format_size(found['size_bytes'])} take at least {long_time(found['least_s'])}, at the line's payload rate of "
        f"{format_rate(float(found['payload_bps']))}"
    )
    best = found.best
    if best is None:
        print("no candidate's time is known")
        return
    others = [f"{one['cc']} x {one['streams']}" for one in found["fastest"][1:]]
    if others:
        print(f"within the interval of the fastest: {', '.join(others)}")
    print(f"for {best['cc']} with {best['streams']} {'stream' if best['streams'] == 1 else 'streams'}, on both hosts:")
    for line in best["commands"]:
        print(f"    {line}")
    print(f"{found['runs']} runs, {found['cpu_s']:.0f} s of processor time")
