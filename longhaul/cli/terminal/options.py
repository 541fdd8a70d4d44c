"""The options that several verbs share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_SIDE = (
    "a run id, or a result (the file of `run --json`, the folder of `run --out`), or with --server an experiment's id"
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version as installed

        typer.echo(f"longhaul {installed('longhaul')}")
        raise typer.Exit


def _shipped(begun: str) -> list[str]:
    """Names for the shell's completion."""
    from longhaul.orchestrator.spec.load import shipped_experiments

    return [name for name in shipped_experiments() if name.startswith(begun)]


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
JobsOption = Annotated[int | None, typer.Option(min=1, help="Guests that run at a time; by default one per processor.")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Run again what is kept already.")]
WatchOption = Annotated[bool, typer.Option("--watch", help="Draw charts in the terminal while a run is running.")]
ExperimentArgument = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT", help="The name of a shipped experiment, or a YAML or JSON file.", autocompletion=_shipped
    ),
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the start of one.")]
RunsArgument = Annotated[list[str], typer.Argument(metavar="RUN...", help="Run ids, or the starts of them.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value, as in path.rtt=100ms.")
]
SeedOption = Annotated[int | None, typer.Option(help="The first seed.")]
RepeatsOption = Annotated[int | None, typer.Option(min=1, help="Runs of each point, each with its own seed.")]
BackendOption = Annotated[
    str, typer.Option(help="Where to run: sandbox, mininet, hosts, or another backend of `longhaul list backends`.")
]
WhereOption = Annotated[
    str | None, typer.Option("--in", metavar="PLACE", help="Where Mininet runs: host (needs root) or guest.")
]
ClockOption = Annotated[
    str | None,
    typer.Option("--clock", metavar="CLOCK", help="Mininet's clock: virtual or real; a guest's is virtual by default."),
]
HostsOption = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="FROM,TO",
        help="The hosts of --backend hosts: FROM,TO; FROM,BOX,TO, where BOX emulates the path; or more as a1=FROM,b1=TO,a2=OTHER.",
    ),
]
MarkdownOption = Annotated[
    Path | None, typer.Option("--markdown", help="Write a summary for a pull request, as Markdown.")
]
GatesOption = Annotated[
    list[str] | None,
    typer.Option("--for", metavar="MEASURE", help="Exit code 1 if this measure is worse in B, as in goodput(app)."),
]
LeastOption = Annotated[
    str, typer.Option("--min-effect", metavar="SHARE", help="The smallest relevant change of a mean.")
]
EverythingOption = Annotated[bool, typer.Option("--all", help="Show every measure, not only those that changed.")]
TraceOption = Annotated[
    bool,
    typer.Option("--trace", help="Show the first record in which the traces of a pair differ, and both sides of it."),
]
JunitOption = Annotated[Path | None, typer.Option(help="Write a JUnit file with a test for each gated measure.")]
PairsReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report of the runs, pair by pair.")]
ConfirmOption = Annotated[int, typer.Option(min=1, help="Fresh seeds that confirm the result.")]
SideA = Annotated[str, typer.Argument(metavar="A", help=f"The reference: {_SIDE}.")]
SideB = Annotated[
    str | None,
    typer.Argument(
        metavar="B",
        help=f"The side to compare with A: {_SIDE}; or a recording: a file of iperf3 -J, flent or packets (pcap, pcapng), or a folder of them.",
    ),
]
KernelOption = Annotated[str, typer.Option(help="The guest's kernel.")]


@dataclass(frozen=True)
class ExperimentOptions:
    """An experiment, changes to it, and where it runs."""

    experiment: ExperimentArgument
    changes: SetOption = None
    backend: BackendOption = "sandbox"
    where: WhereOption = None
    clock: ClockOption = None
    hosts: HostsOption = None
    seed: SeedOption = None
    repeats: RepeatsOption = None

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts that --hosts names."""
        return tuple(name for name in (self.hosts or "").split(",") if name)


def read_seconds(text: str) -> float:
    """Seconds of a time in hours, days or weeks; PlanError."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None:
        raise PlanError("reading the time", text, "it is not a time", "give hours, days or weeks, as in 12h, 90d, 4w")
    return int(match[1]) * {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}[match[2]]
