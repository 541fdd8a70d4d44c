"""`longhaul`: each verb parses its words and calls one function. Heavy imports wait until a verb needs them."""

from __future__ import annotations

import json
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from longhaul.cli.crashes import check_room, unforeseen
from longhaul.cli.guest import agent_app, kernel_app, modules_app, new_module
from longhaul.cli.hosts import HostsOption, hosts_app, names_of
from longhaul.cli.list import list_
from longhaul.cli.options import ExperimentArgument, JobsOption, JsonOption, NoCacheOption, VersionOption
from longhaul.cli.remote_options import (
    TOKEN_ENV,
    ServerOption,
    TokenEnvOption,
    baseline_app,
    refuse_with_server,
    server_of,
)
from longhaul.cli.service import backup, doctor, pin, prune, restore, serve, token_app, verify, worker
from longhaul.orchestrator.system.errors import LonghaulError, PlanError, visible
from longhaul.orchestrator.system.files import STANDARD_OUTPUT, standard_output

app = typer.Typer(
    name="longhaul",
    help="A congestion-control laboratory: real Linux TCP over long fast paths, in virtual time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
NOUNS = {"agent": agent_app, "kernel": kernel_app, "modules": modules_app, "token": token_app, "baseline": baseline_app}
for noun, verbs in (NOUNS | {"hosts": hosts_app}).items():
    app.add_typer(verbs, name=noun)
for verb in (doctor, new_module, serve, worker, prune, pin, verify, backup, restore):
    app.command()(verb)


@app.callback()
def _options(shown: VersionOption = False) -> None:
    pass


class ExportFormat(StrEnum):
    """What a run can be exported to."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    prometheus = "prometheus"
    openmetrics = "openmetrics"


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run id, or the start of one.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value, as in path.rtt=100ms.")
]
SeedOption = Annotated[int | None, typer.Option(help="The first seed.")]
RepeatsOption = Annotated[int | None, typer.Option(min=1, help="Runs of each point, one seed each.")]
BackendOption = Annotated[str, typer.Option(help="What to run on: sandbox, mininet or hosts.")]
WhereOption = Annotated[
    str | None, typer.Option("--in", metavar="PLACE", help="Where Mininet runs: host (needs root) or guest.")
]
ClockOption = Annotated[
    str | None,
    typer.Option("--clock", metavar="CLOCK", help="Mininet's clock: virtual or real; a guest's is virtual by default."),
]
MarkdownOption = Annotated[
    Path | None, typer.Option("--markdown", help="Write a summary for a pull request, as Markdown.")
]
_SIDE = (
    "A run id, or a result (the file of `run --json`, the folder of `run --out`), or with --server an experiment's id"
)
ConfirmOption = Annotated[int, typer.Option(min=1, help="Fresh seeds to confirm on.")]


@app.command()
def run(
    experiment: ExperimentArgument,
    changes: SetOption = None,
    backend: BackendOption = "sandbox",
    where: WhereOption = None,
    clock: ClockOption = None,
    hosts: HostsOption = None,
    seed: SeedOption = None,
    repeats: RepeatsOption = None,
    jobs: JobsOption = None,
    out: Annotated[Path | None, typer.Option(help="Also write the documents and traces into this folder.")] = None,
    as_json: JsonOption = False,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file with a test a run.")] = None,
    markdown: MarkdownOption = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None,
    no_cache: NoCacheOption = False,
    server: ServerOption = None,
    token_env: TokenEnvOption = TOKEN_ENV,
) -> None:
    """Run an experiment: every point of its sweep, every repeat; here, or on a service."""
    from longhaul.cli.output import Files

    files = Files(junit, markdown, report, out)
    if service := server_of(server):
        from longhaul.cli.remote import run_remotely

        refuse_with_server(service, {"--jobs": jobs is not None, "--no-cache": no_cache})
        options: dict[str, Any] = {"backend": backend, "where": where, "clock": clock, "seed": seed, "repeats": repeats}
        options |= {"hosts": names_of(hosts)} if hosts else {}
        raise typer.Exit(
            run_remotely(
                experiment, changes or [], options, server=service, token_env=token_env, files=files, as_json=as_json
            )
        )
    from longhaul.cli.verbs import Asked, run_experiment

    asked = Asked(experiment, changes or [], backend, where, clock, seed, repeats, names_of(hosts))
    raise typer.Exit(run_experiment(asked, jobs=jobs, files=files, as_json=as_json, use_cache=not no_cache))


@app.command()
def reproduce(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER[/FIGURE]]", help="A paper, or one figure of it; every paper by default."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The fewest points that still give the verdicts.")] = False,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the documents and a page a paper into this folder."),
    ] = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Run a paper's experiments and hold the published values against them; exit code 1 if a claim that gates differs."""
    from longhaul.cli.reproduce import reproduce as carry_out

    raise typer.Exit(carry_out(target, quick=quick, jobs=jobs, as_json=as_json, output=output, use_cache=not no_cache))


@app.command(context_settings={"ignore_unknown_options": True})
def mininet(
    words: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT|SCRIPT.py|mn", help="A net to open, or a script and its words.")
    ],
    changes: SetOption = None,
    where: Annotated[
        str, typer.Option("--in", metavar="PLACE", help="Where an experiment's net is: guest, or host (needs root).")
    ] = "guest",
    clock: Annotated[
        str | None,
        typer.Option(metavar="CLOCK", help="A script's clock: virtual (default) or real; a prompt's is real."),
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="The guest's kernel, for a script.")] = None,
    seed: SeedOption = None,
) -> None:
    """Open the mininet> prompt on an experiment's net, or run a Mininet script (or mn itself, its words after --) in a guest."""
    from longhaul.cli.mininet import open_mininet

    raise typer.Exit(open_mininet(words, changes or [], where=where, clock=clock, kernel=kernel, seed=seed))


@app.command()
def plan(
    experiment: ExperimentArgument,
    changes: SetOption = None,
    backend: BackendOption = "sandbox",
    where: WhereOption = None,
    clock: ClockOption = None,
    hosts: HostsOption = None,
    seed: SeedOption = None,
    repeats: RepeatsOption = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the topology into this SVG file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the resolved plan: the topology, every number, where each impairment sits, cost, lint."""
    from longhaul.cli.verbs import Asked, show_plan

    asked = Asked(experiment, changes or [], backend, where, clock, seed, repeats, names_of(hosts))
    show_plan(asked, picture=picture, as_json=as_json)


@app.command()
def tune(
    experiment: ExperimentArgument,
    objective: Annotated[
        str, typer.Option("--for", metavar="OBJECTIVE", help="What to make large, as in goodput(app)/1e6 - queue_mean.")
    ],
    params: Annotated[
        list[str],
        typer.Option("--param", metavar="FLOW.NAME=VALUES", help="A parameter: values 1,2,4, or a range 1..16."),
    ],
    sampler: Annotated[str, typer.Option(help="How to search: grid, tpe, random or cmaes.")] = "grid",
    trials: Annotated[int, typer.Option(min=1, help="Candidates of a sampler; a grid tries all.")] = 40,
    over: Annotated[str, typer.Option(help="Over the points of a sweep: mean or worst.")] = "mean",
    confirm: ConfirmOption = 5,
    changes: SetOption = None,
    seed: SeedOption = None,
    repeats: RepeatsOption = None,
    jobs: JobsOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the tuned experiment as YAML.")] = None,
    heat_map: Annotated[Path | None, typer.Option(help="Draw the surface of two parameters as SVG.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Search module parameters for an objective, and confirm the best on fresh seeds; exit code 1 if it is not better."""
    from longhaul.cli.search import tune_experiment

    raise typer.Exit(
        tune_experiment(
            experiment, changes or [], params, objective, sampler=sampler, trials=trials, over=over, confirm=confirm,
            seed=seed, repeats=repeats, jobs=jobs, output=output, heat_map=heat_map, as_json=as_json,
        )
    )  # fmt: skip


@app.command()
def search(
    experiment: ExperimentArgument,
    claim: Annotated[str, typer.Option(metavar="CLAIM", help="What should hold, as in goodput(app) >= 0.9 * 622e6.")],
    over: Annotated[
        list[str],
        typer.Option(metavar="FIELD=BENIGN..HARSH", help="A field and its range, as in path.rtt=1ms..500ms."),
    ],
    trials: Annotated[int, typer.Option(min=5, help="Conditions to try at most, before the confirmation.")] = 24,
    confirm: ConfirmOption = 3,
    changes: SetOption = None,
    seed: SeedOption = None,
    repeats: RepeatsOption = None,
    jobs: JobsOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the counterexample as an experiment.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search the mildest condition that breaks a claim, and confirm it on fresh seeds; exit code 1 if there is one."""
    from longhaul.cli.search import search_experiment

    raise typer.Exit(
        search_experiment(
            experiment, changes or [], over, claim, trials=trials, confirm=confirm, seed=seed, repeats=repeats,
            jobs=jobs, output=output, as_json=as_json,
        )
    )  # fmt: skip


app.command("list")(list_)


@app.command()
def show(run: RunArgument, as_json: JsonOption = False) -> None:
    """Show a kept run: summary, chart, fidelity."""
    from longhaul.cli.verbs import show_run

    show_run(run, as_json=as_json)


@app.command()
def log(run: RunArgument) -> None:
    """Print what the guest's kernel and its modules said in a run, kept or failed."""
    from longhaul.cli.verbs import show_log

    show_log(run)


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=f"{_SIDE} to compare with.")],
    b: Annotated[str | None, typer.Argument(metavar="B", help=f"{_SIDE} that is compared.")] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD[=A,B]", help="Instead of B: two values of a swept field of A, as in flows.app.cc=cubic,bbr."
        ),
    ] = None,
    gates: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="MEASURE", help="Exit code 1 if this is worse in B, as in goodput(app)."),
    ] = None,
    least: Annotated[
        str, typer.Option("--min-effect", metavar="SHARE", help="The least change of a mean that matters.")
    ] = "2 %",
    everything: Annotated[bool, typer.Option("--all", help="Show every measure, not only what changed.")] = False,
    as_json: JsonOption = False,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file with a test for each gated measure.")] = None,
    summary: MarkdownOption = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report of the runs, partners together.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="BRANCH", help="Instead of B: hold A against what the service has for this branch."),
    ] = None,
    server: ServerOption = None,
    token_env: TokenEnvOption = TOKEN_ENV,
) -> None:
    """Compare two runs or results, paired by point and seed; exit code 1 if a measure of --for is worse."""
    how: dict[str, Any] = {
        "by": by, "gates": gates or [], "least": least, "everything": everything, "as_json": as_json, "junit": junit,
        "summary": summary, "report": report,
    }  # fmt: skip
    if service := server_of(server, needed=baseline is not None):
        from longhaul.cli.remote import compare_remotely

        raise typer.Exit(compare_remotely(a, b, baseline=baseline, server=service, token_env=token_env, **how))
    from longhaul.cli.compare import compare_results

    raise typer.Exit(compare_results(a, b, **how))


@app.command()
def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run ids, or their beginnings.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .html, .svg or .png.")] = Path(
        "report.html"
    ),
) -> None:
    """Write a report of kept runs."""
    from longhaul.cli.verbs import write_report

    write_report(runs, output)


@app.command()
def export(
    run: RunArgument,
    to: Annotated[ExportFormat, typer.Option("--to", help="The format.")] = ExportFormat.csv,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write into, ./<run> by default; for openmetrics the file."),
    ] = None,
) -> None:
    """Export a kept run's trace, or its samples as they are streamed while it runs: to Prometheus, or as OpenMetrics."""
    from longhaul.orchestrator.live.export_run import export_run

    export_run(run, to.value, output)


@app.command()
def rerun(
    run: RunArgument,
    original: Annotated[
        bool, typer.Option("--original", help="With the kernel, agent and modules that made it, not today's.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a kept run again from its manifest; says identical, or what differs (exit code 1)."""
    from longhaul.cli.verbs import rerun_run

    raise typer.Exit(rerun_run(run, original=original, as_json=as_json))


def main() -> None:
    """The entry point."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with standard_output():
            _obey()
    except LonghaulError as error:
        # It cannot be printed where everything else is.
        print(f"longhaul: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _obey() -> None:
    """One handler for every error, one exit code each; what nothing foresaw has 4, never 1."""
    try:
        check_room()
        app(standalone_mode=True)
    except LonghaulError as error:
        _end(error)
    except OSError as error:
        if error.filename == STANDARD_OUTPUT:
            raise
        if error.filename is None:
            _end(unforeseen(error))
        # A file that the person named.
        _end(PlanError("opening", str(error.filename), error.strerror or str(error), "name another file"))
    except KeyboardInterrupt:
        print("longhaul: cancelled; what was finished is kept", file=sys.stderr)
        sys.exit(130)
    except Exception as error:  # an exit code of 1 would be taken for a measurement
        _end(unforeseen(error))


def _end(error: LonghaulError) -> NoReturn:
    _say(error)
    sys.exit(error.exit_code)


def _say(error: LonghaulError) -> None:
    if "--json" in sys.argv:
        print(json.dumps({"error": error.as_dict()}))
    for line in str(error).splitlines():
        print(f"longhaul: {visible(line)}", file=sys.stderr)


if __name__ == "__main__":
    main()
