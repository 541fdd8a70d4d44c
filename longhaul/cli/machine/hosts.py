"""`longhaul hosts`: physical hosts, deployed and restored, listed, measured, stopped."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.machine.deploy import check, deploy, restore
from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_FAILED, show_rows
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = group_app("Physical hosts and the paths between them.")
for verb in (check, deploy, restore):
    command(app)(verb)


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul hosts list`."""

    as_json: JsonOption = False


@command(app, "list")
def list_hosts(options: ListOptions) -> None:
    """List the hosts of the operator's policy: who holds them, their last health, when they are closed."""
    show_hosts(as_json=options.as_json)


def show_hosts(*, as_json: bool) -> None:
    """Print the hosts of the operator's policy."""
    from longhaul.orchestrator.execution.hosts import host_rows
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings
    from longhaul.orchestrator.system.units import format_rate

    settings = load_settings()
    rows = host_rows(settings, Store(settings))
    shown = [
        {
            "host": row["host"],
            "state": "free" if row["free"] else row["holder"] or "closed",
            "rate": format_rate(row["rate_bps"]),
            "peers": ", ".join(
                f"{peer}{' (provisioned)' if one['provisioned'] else ''}" for peer, one in row["peers"].items()
            ),
            "closed next": row["closed"][0][0] if row["closed"] else "",
            "last seen": ""
            if row["health"] is None
            else f"{row['health']['at']} {'healthy' if row['health']['ok'] else 'unhealthy'}",
        }
        for row in rows
    ]
    show_rows("hosts", rows, shown, as_json=as_json)


@dataclass(frozen=True)
class MeasureOptions:
    """The options of `longhaul hosts measure`."""

    sender: Annotated[str, typer.Argument(metavar="FROM", help="The host that sends.")]
    receiver: Annotated[str, typer.Argument(metavar="TO", help="The host that receives.")]
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The experiment to write; twin-FROM-TO.yaml by default.")
    ] = None
    seconds: Annotated[int, typer.Option(min=5, max=300, help="Seconds to probe the path, and then to fill it.")] = 20
    as_json: JsonOption = False


@command(app)
def measure(options: MeasureOptions) -> None:
    """Measure the path between two hosts, idle and full, and write an experiment that replays it in the sandbox."""
    from longhaul.orchestrator.execution.path_twin import measure_path, twin_of
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.files import check_places, write_whole
    from longhaul.orchestrator.system.settings import load_settings
    from longhaul.orchestrator.system.units import format_rate

    sender, receiver, seconds = options.sender, options.receiver, options.seconds
    file = options.output or Path(f"twin-{sender}-{receiver}.yaml")
    check_places(file)
    settings = load_settings()
    found = measure_path(settings, Store(settings), sender, receiver, seconds)
    write_whole(file, twin_of(found, seconds))
    if options.as_json:
        print(json.dumps({**found.as_document(), "experiment": str(file)}))
        return
    percentiles = ", ".join(f"{name} {value / 1000:.1f}" for name, value in found.rtt_us.items())
    print(f"round trip: minimum {found.least_rtt_us / 1000:.1f} ms, {percentiles} ms while idle")
    print(
        f"rate: {'at least ' if found.capped else ''}{format_rate(found.rate_bps)}, {found.queue_us / 1000:.0f} ms of queue"
    )
    print(f"losses of probes: {found.loss:.2%}{', in bursts' if found.burst else ''}")
    print(f"packets up to {found.largest_bytes} bytes, ECN bits {'kept' if found.ecn_kept else 'changed'}")
    print(f"written to {file}; compare it with `longhaul hosts twin {file} {found.run}`")


@dataclass(frozen=True)
class TwinOptions:
    """The options of `longhaul hosts twin`."""

    experiment: Annotated[str, typer.Argument(help="The experiment that `hosts measure` wrote.")]
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run on hosts that it was written for.")]
    report: Annotated[Path | None, typer.Option(help="Write a report with both runs.")] = None
    as_json: JsonOption = False


@command(app)
def twin(options: TwinOptions) -> None:
    """Run the twin of a real path in the sandbox and compare it with the real measurement."""
    from longhaul.cli.terminal.output import write_report
    from longhaul.laboratory.kept_runs import kept_run
    from longhaul.orchestrator.execution.evaluation import up_to_date
    from longhaul.orchestrator.execution.path_twin import compare_twin, run_twin
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.spec.load import load_experiment
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    store = Store(settings)
    real = up_to_date(store.get(options.run), store)
    here = run_twin(settings, store, load_experiment(options.experiment, []))
    rows = compare_twin(real, here)
    if options.report is not None:
        write_report([kept_run(real["run"]), kept_run(here["run"])], options.report)
    if options.as_json:
        print(json.dumps({"real": real["run"], "twin": here["run"], "rows": rows}))
        return
    from longhaul.cli.terminal.console import plain_table, results_console

    shown = [
        {
            "measure": row["measure"],
            "real": "-" if row["real"] is None else f"{row['real']:.4g}",
            "twin": "-" if row["twin"] is None else f"{row['twin']:.4g}",
            "off": "-" if row["off"] is None else f"{row['off']:+.1%}",
        }
        for row in rows
    ]
    results_console().print(plain_table(shown))
    print(f"real {real['run']}, twin {here['run']}")


@dataclass(frozen=True)
class StopOptions:
    """The options of `longhaul hosts stop`."""

    hosts: Annotated[list[str] | None, typer.Argument(metavar="[HOST...]", help="All of them by default.")] = None
    as_json: JsonOption = False


@command(app)
def stop(options: StopOptions) -> int:
    """Stop every run on hosts at once, here and on the hosts, and cancel those that wait; exit code 4 if a host does not respond."""
    from longhaul.orchestrator.execution.hosts import stop_in_record, stop_on_hosts
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.spec.host_policy import load_policy
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    policy = load_policy(settings)
    stopped = stop_in_record(Store(settings), policy, getpass.getuser(), options.hosts or [])
    rows = stop_on_hosts(policy, stopped["hosts"])
    if options.as_json:
        print(json.dumps({**stopped, "hosts": rows}))
    for row in rows:
        if row["problem"]:
            typer.echo(row["problem"], err=True)
        elif not options.as_json:
            print(f"{row['host']}: {row['stopped']} runs stopped")
    return EXIT_FAILED if any(row["problem"] for row in rows) else EXIT_DONE
