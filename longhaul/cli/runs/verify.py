"""`longhaul verify`: check the files of kept runs, and repair damaged runs.

whole       every file has its hash of the manifest, and the manifest has its own
unsealed    kept before manifests had hashes: it can be read, and only a rerun shows whether it is what was kept
damaged     a file is missing or changed; `repair` runs it again with the programs that made it
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import counted
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_FAILED
from longhaul.orchestrator.system.errors import LonghaulError, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.results.verification import Row
    from longhaul.orchestrator.system.settings import Settings

app = verb_app()


@dataclass(frozen=True)
class VerifyOptions:
    """The options of `longhaul verify`."""

    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run id, or the start of one.")] = None
    everything: Annotated[bool, typer.Option("--all", help="Every kept run.")] = False
    repair: Annotated[
        bool, typer.Option("--repair", help="Run damaged runs again with the programs that made them.")
    ] = False
    as_json: JsonOption = False


@command(app)
def verify(options: VerifyOptions) -> int:
    """Compare every file of kept runs with its hash; exit code 4 if a run is damaged and not repaired."""
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.results.verification import verification
    from longhaul.orchestrator.system.settings import load_settings

    if (options.run is None) != options.everything:
        raise PlanError(
            "verifying", options.run or "", "no run or more than one choice is given", "give either RUN or --all"
        )
    settings = load_settings()
    store = Store(settings)
    ids = store.catalog.kept_ids() if options.run is None else [store.get(options.run)["run"]]
    rows = [verification(run_id, store.states(run_id)) for run_id in counted("reading every file", ids, "runs")]
    if options.repair:
        for row in counted("running again", [row for row in rows if row["state"] == "damaged"], "damaged runs"):
            _repair(store, row, settings)
    bad = [row for row in rows if row["state"] == "damaged"]
    if options.as_json:
        print(json.dumps({"ok": not bad, "runs": rows}))
    else:
        _print(rows, everything=options.everything)
    return EXIT_FAILED if bad else EXIT_DONE


def _repair(store: Store, row: Row, settings: Settings) -> None:
    from longhaul.orchestrator.backends.originals import original_backend
    from longhaul.orchestrator.execution.pipeline import Pipeline
    from longhaul.orchestrator.results.seals import MANIFEST
    from longhaul.orchestrator.results.verification import BAD, verification

    run_id = row["run"]
    if row["files"][MANIFEST] in BAD:
        # The run's plan cannot be read.
        return
    try:
        manifest, run = store.manifest(run_id), store.planned(run_id)
        backend = original_backend(run, manifest["identity"], settings)
        document = Pipeline(backend, store, use_cache=False).rerun(run, manifest["spec"])
    except LonghaulError as error:
        row["error"] = str(error)
        return
    row |= verification(run_id, store.states(run_id))
    if row["state"] == "whole":
        row["state"] = "repaired"
        row["identical"] = document["trace_sha256"] == manifest["trace_sha256"]


def _print(rows: list[Row], *, everything: bool) -> None:
    for row in rows:
        if not everything or row["state"] in ("damaged", "repaired"):
            print(f"{row['run']}: {_words(row)}")
    if everything:
        states = [row["state"] for row in rows]
        counts = [f"{states.count(state)} {state}" for state in ("whole", "unsealed", "repaired", "damaged")]
        print(f"{len(rows)} runs: {', '.join(counts)}")
    if any(row["state"] == "unsealed" for row in rows):
        print("unsealed: kept before files had hashes; `longhaul rerun RUN` compares them with a new run")


def _words(row: Row) -> str:
    from longhaul.orchestrator.results.seals import MANIFEST
    from longhaul.orchestrator.results.verification import BAD

    if row["state"] == "repaired":
        same = "identical to the byte" if row["identical"] else "its trace differs: it ran in real time"
        return f"repaired, {same}"
    if row["state"] != "damaged":
        return str(row["state"])
    bad = ", ".join(f"{name} {state}" for name, state in row["files"].items() if state in BAD)
    why = row.get("error")
    if why:
        return f"{bad}; not repaired: {why}"
    if row["files"][MANIFEST] in BAD:
        return f"{bad}; run its experiment again to replace it"
    return f"{bad}; `longhaul verify {row['run']} --repair` runs it again"
