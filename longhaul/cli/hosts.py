"""The verbs of physical hosts."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.deploy import check, deploy, restore
from longhaul.cli.options import JsonOption

hosts_app = typer.Typer(help="Physical hosts: real paths.", no_args_is_help=True)
for verb in (check, deploy, restore):
    hosts_app.command()(verb)

HostsOption = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="FROM,TO",
        help="The hosts of --backend hosts; FROM,BOX,TO has BOX emulate the path; more than two as a1=FROM,b1=TO,a2=OTHER.",
    ),
]


def names_of(written: str | None) -> tuple[str, ...]:
    """The hosts that --hosts names."""
    return tuple(name for name in (written or "").split(",") if name)


@hosts_app.command("list")
def list_hosts(as_json: JsonOption = False) -> None:
    """List the hosts of the operator's policy: who has them, how they were last, when they are closed."""
    from longhaul.cli.verbs import list_hosts as list_

    list_(as_json=as_json)


@hosts_app.command()
def measure(
    sender: Annotated[str, typer.Argument(metavar="FROM", help="The host that sends.")],
    receiver: Annotated[str, typer.Argument(metavar="TO", help="The host that receives.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The experiment to write; twin-FROM-TO.yaml by default.")
    ] = None,
    seconds: Annotated[int, typer.Option(min=5, max=300, help="How long to probe, and then to fill the path.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Measure the path between two hosts, idle and full, and write an experiment that replays it in the sandbox."""
    from longhaul.orchestrator.execution.path_twin import measure_path, twin_of
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.files import check_places, write_whole
    from longhaul.orchestrator.system.settings import load_settings
    from longhaul.orchestrator.system.units import format_rate

    file = output or Path(f"twin-{sender}-{receiver}.yaml")
    check_places(file)
    settings = load_settings()
    found = measure_path(settings, Store(settings), sender, receiver, seconds)
    write_whole(file, twin_of(found, seconds))
    if as_json:
        print(json.dumps({**found.as_document(), "experiment": str(file)}))
        return
    percentiles = ", ".join(f"{name} {value / 1000:.1f}" for name, value in found.rtt_us.items())
    print(f"round trip: least {found.least_rtt_us / 1000:.1f} ms, {percentiles} ms while idle")
    print(
        f"rate: {'at least ' if found.capped else ''}{format_rate(found.rate_bps)}, {found.queue_us / 1000:.0f} ms of queue"
    )
    print(f"losses of probes: {found.loss:.2%}{', in bursts' if found.burst else ''}")
    print(f"packets up to {found.largest_bytes} bytes, ECN bits {'kept' if found.ecn_kept else 'changed'}")
    print(f"written to {file}; compare it by `longhaul hosts twin {file} {found.run}`")


@hosts_app.command()
def twin(
    experiment: Annotated[str, typer.Argument(help="The experiment that `hosts measure` wrote.")],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run on hosts that it was written for.")],
    report: Annotated[Path | None, typer.Option(help="Write a report with both runs.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the twin of a real path in the sandbox, and hold it against what was measured there."""
    from longhaul.cli.verbs import write_report
    from longhaul.orchestrator.execution.evaluation import up_to_date
    from longhaul.orchestrator.execution.path_twin import compare_twin, run_twin
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.spec.load import load_experiment
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    store = Store(settings)
    real = up_to_date(store.get(run), store)
    here = run_twin(settings, store, load_experiment(experiment, []))
    rows = compare_twin(real, here)
    if report is not None:
        write_report([real["run"], here["run"]], report, store)
    if as_json:
        print(json.dumps({"real": real["run"], "twin": here["run"], "rows": rows}))
        return
    from longhaul.cli.console import plain_table, results_console

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


@hosts_app.command()
def stop(
    hosts: Annotated[list[str] | None, typer.Argument(metavar="[HOST...]", help="All of them by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """End every run on hosts at once, here and on the hosts themselves, and give up what waits; exit code 4 where a host does not answer."""
    from longhaul.orchestrator.execution.hosts import stop_in_record, stop_on_hosts
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.spec.host_policy import load_policy
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    policy = load_policy(settings)
    stopped = stop_in_record(Store(settings), policy, getpass.getuser(), hosts or [])
    rows = stop_on_hosts(policy, stopped["hosts"])
    if as_json:
        print(json.dumps({**stopped, "hosts": rows}))
    for row in rows:
        if row["problem"]:
            typer.echo(row["problem"], err=True)
        elif not as_json:
            print(f"{row['host']}: {row['stopped']} runs stopped")
    raise typer.Exit(4 if any(row["problem"] for row in rows) else 0)
