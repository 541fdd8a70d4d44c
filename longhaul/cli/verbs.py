"""What each verb of the command line does, in the words of the modules of the road; printing is console.py's."""

from __future__ import annotations

import gc
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.cli.output import (
    EXIT_DONE,
    EXIT_MISSED,
    Chart,
    Files,
    exit_code,
    show_result,
    show_run_document,
    with_numbers,
    write_summaries,
)
from longhaul.cli.progress import ProgressLines, Tally
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.execution.pipeline import Document, Pipeline, Watcher, opened_live
from longhaul.orchestrator.live.export_run import with_grafana
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.results.guest_logs import find_log
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import BackendUnavailable, LonghaulError, PlanError, RunDamaged, TraceError
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.system.process import printable
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.orchestrator.system.units import format_rate

if TYPE_CHECKING:
    from rich.text import Text

    from longhaul.orchestrator.trace.records import Trace

# So many new objects before the collector looks at them.
_COLLECT_AFTER = 50_000


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs the command line asks for: an experiment, what it changes there, and where they are to be."""

    name: str
    changes: Sequence[str]
    backend: str
    where: str | None
    clock: str | None
    seed: int | None
    repeats: int | None
    hosts: tuple[str, ...] = ()

    def compile(self, settings: Settings) -> tuple[Backend, Plan]:
        """Where the runs will be, and what they are."""
        backend = open_backend(self.backend, settings)
        experiment = load_experiment(self.name, self.changes)
        return backend, compile_plan(
            experiment, seed=self.seed, repeats=self.repeats, backend=self.backend, where=self.where, clock=self.clock,
            hosts=self.hosts,
        )  # fmt: skip


def run_experiment(
    asked: Asked,
    *,
    jobs: int | None,
    files: Files,
    as_json: bool,
    use_cache: bool,
) -> int:
    """Compile, carry out, print; the exit code."""
    files.check()
    # What loads stays: a collector that looks through it every 700 objects takes a share of a short run.
    gc.set_threshold(_COLLECT_AFTER)
    settings = load_settings()
    backend, plan = asked.compile(settings)
    store = Store(settings)
    # By the real clock two runs at a time would be in each other's way.
    jobs = 1 if plan.runs[0].clock == "real" else jobs or settings.jobs
    with opened_live(settings, store) as live:
        documents = carry_out(Pipeline(backend, store, use_cache, live=live), plan, jobs, quiet=as_json)
    from longhaul.orchestrator.analysis.aggregate import summarise_repeats

    documents = [with_grafana(settings, document) for document in documents]
    result = {
        "experiment": plan.experiment.experiment,
        "runs": documents,
        "summary": summarise_repeats([d for d in documents if d["status"] != "failed"], plan.experiment.aggregate),
    }
    if as_json:
        print(json.dumps(result))
    else:
        show_result(result, lint=plan.lint, chart=_chart(store))
    write_summaries(result, files)
    if files.report is not None and with_numbers(result):
        write_report([document["run"] for document in with_numbers(result)], files.report, store)
    if files.out is not None:
        for document in with_numbers(result):
            if (fault := store.fault(document["run"], thorough=True)) is not None:
                raise fault
            shutil.copytree(store.directory(document["run"]), files.out / document["run"], dirs_exist_ok=True)
    return exit_code(documents)


def carry_out(pipeline: Pipeline, plan: Plan, jobs: int, *, quiet: bool) -> list[Document]:
    """The documents of a plan, with its progress: bars on a terminal unless it is to be quiet, a line now and then elsewhere."""
    (documents,) = carry_out_all(pipeline, [plan], plan.experiment.experiment, jobs, quiet=quiet)
    return documents


def carry_out_all(
    pipeline: Pipeline, plans: Sequence[Plan], name: str, jobs: int, *, quiet: bool
) -> list[list[Document]]:
    """The same of several plans, which have this name together."""
    costs = [wall_estimate_s(run) for plan in plans for run in plan.runs]
    tally = Tally(len(costs), use_cache=pipeline.use_cache)
    try:
        if not sys.stderr.isatty():
            return _with_lines(pipeline, plans, jobs, ProgressLines(name, costs), tally)
        if quiet:
            pipeline.watcher = Watcher(finished=lambda index, document: tally.finished(document["status"]))
            return pipeline.execute_all(plans, jobs)
        return _with_bars(pipeline, plans, jobs, name, costs, tally)
    except (KeyboardInterrupt, SystemExit):
        print(f"longhaul: {tally.sentence()}", file=sys.stderr)
        raise


def _with_lines(
    pipeline: Pipeline, plans: Sequence[Plan], jobs: int, lines: ProgressLines, tally: Tally
) -> list[list[Document]]:
    def finished(index: int, document: Document) -> None:
        tally.finished(document["status"])
        lines.finished(index, document["status"], cached=document["cached"])

    pipeline.watcher = Watcher(
        lambda index, run: lines.started(index, run.title, run.duration_us / 1e6),
        lambda index, virtual_ns: lines.reached(index, virtual_ns / 1e9),
        finished,
    )
    return pipeline.execute_all(plans, jobs)


def _with_bars(
    pipeline: Pipeline, plans: Sequence[Plan], jobs: int, name: str, costs: Sequence[float], tally: Tally
) -> list[list[Document]]:
    from longhaul.cli.console import RunProgress, progress_console

    with RunProgress(name, len(costs), progress_console(), costs) as bars:

        def finished(index: int, document: Document) -> None:
            tally.finished(document["status"])
            bars.finished(index)

        pipeline.watcher = Watcher(
            lambda index, run: bars.started(index, run.title, run.duration_us / 1e6, run.clock),
            lambda index, virtual_ns: bars.reached(index, virtual_ns / 1e9),
            finished,
        )
        return pipeline.execute_all(plans, jobs)


def _chart(store: Store) -> Chart:
    """Draws kept runs."""

    def draw(document: Document, columns: int, *, colour: bool) -> Text:
        from rich.text import Text

        from longhaul.orchestrator.analysis.report.chart import run_charts
        from longhaul.orchestrator.execution.evaluation import run_and_trace

        try:
            return run_charts(*run_and_trace(document, store), columns, colour=colour)
        except RunDamaged:
            raise
        except TraceError as error:
            # Of another version: its numbers can be shown all the same.
            return Text(f"no chart: {error}")

    return draw


def show_plan(asked: Asked, *, picture: Path | None, as_json: bool) -> None:
    """Print the resolved plan, and draw its topology."""
    from longhaul.orchestrator.preview.describe import describe_plan
    from longhaul.orchestrator.preview.topology_picture import as_svg, picture_of

    _, plan = asked.compile(load_settings())
    if picture is not None:
        write_whole(picture, as_svg(picture_of(plan.graph), plan.experiment.topology))
    if as_json:
        print(
            json.dumps(
                {
                    "experiment": plan.experiment.experiment,
                    "lint": list(plan.lint),
                    "runs": [run.as_json() for run in plan.runs],
                }
            )
        )
        return
    print(describe_plan(plan))


def list_nouns(noun: str, *, as_json: bool, limit: int) -> None:
    """Print one catalogue."""
    from longhaul.orchestrator.execution.catalogues import CATALOGUES, kept_runs

    rows = _kept_rows(limit) if noun == "runs" else CATALOGUES[noun]()
    if as_json:
        print(json.dumps(rows))
        return
    from longhaul.cli.console import plain_table, results_console

    shown = kept_runs(rows) if noun == "runs" else rows
    results_console().print(plain_table(shown) if shown else f"no {noun} yet")


def _kept_rows(limit: int) -> list[Document]:
    """The newest kept runs, each with the programs that made it and are not today's."""
    from longhaul.orchestrator.execution.other_programs import OtherPrograms

    settings = load_settings()
    store = Store(settings)
    rows = store.list_runs(limit)
    others = OtherPrograms(settings, store).of_runs([row["id"] for row in rows])
    return [row | {"other_programs": others[row["id"]]} for row in rows]


def list_hosts(*, as_json: bool) -> None:
    """Print the hosts of the operator's policy."""
    from longhaul.orchestrator.execution.hosts import host_rows

    settings = load_settings()
    rows = host_rows(settings, Store(settings))
    if as_json:
        print(json.dumps(rows))
        return
    from longhaul.cli.console import plain_table, results_console

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
            else f"{row['health']['at']} {'well' if row['health']['ok'] else 'not well'}",
        }
        for row in rows
    ]
    results_console().print(plain_table(shown))


def show_run(key: str, *, as_json: bool) -> None:
    """Print a kept run."""
    from longhaul.orchestrator.execution.evaluation import readable
    from longhaul.orchestrator.execution.other_programs import OtherPrograms

    settings = load_settings()
    store = Store(settings)
    kept = store.get(key)
    if (fault := store.fault(kept["run"], thorough=True)) is not None:
        raise fault
    document = with_grafana(settings, readable(kept, store))
    document["other_programs"] = OtherPrograms(settings, store).of_run(kept["run"])
    if as_json:
        print(json.dumps(document))
        return
    show_run_document({**document, "cached": True}, _chart(store))
    notes = [document["caveat"]] if "caveat" in document else []
    if others := document["other_programs"]:
        notes.append(
            f"made by other programs than today's ({'; '.join(others)}); `longhaul rerun --original` uses those"
        )
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def show_log(key: str) -> None:
    """Print what the guest of a run said, with nothing in it that could steer a terminal."""
    with find_log(Store(load_settings()), key).open("rb") as file:
        while lines := file.readlines(2**20):
            print(printable(b"".join(lines)), end="")


def write_report(keys: Sequence[str], output: Path, store: Store | None = None) -> None:
    """Write kept runs as HTML, SVG or PNG, by the file's ending."""
    from longhaul.orchestrator.analysis.report.report import write_report as write
    from longhaul.orchestrator.execution.evaluation import kept_run

    store = store or Store(load_settings())
    runs = [kept_run(key, store) for key in keys]
    if not runs:
        raise PlanError("writing a report to", str(output), "no run finished, so there is nothing to show")
    write(runs, output)
    print(f"report: {output}", file=sys.stderr)


def rerun_run(key: str, *, original: bool, as_json: bool) -> int:
    """Run again from the manifest and say whether every byte of the trace is the same, as it was and as it lies there."""
    from longhaul.orchestrator.backends.originals import original_backend
    from longhaul.orchestrator.execution.evaluation import rerun_verdict

    settings = load_settings()
    store = Store(settings)
    kept = store.get(key)
    if (fault := store.fault(kept["run"], thorough=True)) is not None:
        raise fault
    manifest, run = store.manifest(kept["run"]), store.planned(kept["run"])
    traces: list[Trace] = []
    with opened_live(settings, store) as live:
        backend = (
            original_backend(run, manifest["identity"], settings) if original else open_backend(run.backend, settings)
        )
        pipeline = Pipeline(backend, store, use_cache=False, live=live, judged=traces.append)
        verdict = rerun_verdict(kept, pipeline.rerun(run, manifest["spec"]))
    if verdict["identical"] and "files" not in manifest:
        _seal(store, kept["run"], traces[0])
    then, now = kept["trace_sha256"][:16], verdict["trace_sha256"][:16]
    if as_json:
        print(json.dumps(verdict))
    else:
        same = verdict["identical"]
        print(f"{kept['run']}: {f'identical, trace {now}' if same else f'differs, trace {then} then, {now} now'}")
        for line in verdict["differences"]:
            print(line)
    return EXIT_DONE if verdict["identical"] else EXIT_MISSED


def _seal(store: Store, run_id: str, trace: Trace) -> None:
    """A run from before files had hashes, whose rerun is to the byte what was kept: so must be what lies there."""
    from longhaul.orchestrator.results.seals import damaged
    from longhaul.orchestrator.results.traces import FILE_NAMES

    there = store.trace(run_id).kinds()
    for kind, records in trace.kinds().items():
        if records.tobytes() != there[kind].tobytes():
            raise damaged(
                store.directory(run_id), FILE_NAMES[kind], "its records are not those of the trace that was kept"
            )
    store.seal(run_id)


def check_modules(paths: Sequence[str], kernel: str, *, as_json: bool) -> int:
    """Print whether each congestion control loads and works in a guest."""
    from longhaul.orchestrator.spec.trial import trials

    settings = load_settings()
    rows = []
    with tempfile.TemporaryDirectory() as home:
        # Nobody asks for these runs again: they go to a store of their own.
        pipeline = Pipeline(open_backend("sandbox", settings), Store(replace(settings, home=Path(home))))
        for control, experiment in trials(paths, kernel):
            try:
                (document,) = pipeline.execute(compile_plan(experiment))
                fault = document.get("error", {}).get("what", "")
            except BackendUnavailable:
                raise
            except LonghaulError as error:
                fault = str(error)
            rows.append({"cc": control, "kernel": kernel, "ok": not fault, "fault": fault})
    if as_json:
        print(json.dumps(rows))
    else:
        from longhaul.cli.console import plain_table, results_console

        results_console().print(plain_table([{**row, "ok": "yes" if row["ok"] else "no"} for row in rows]))
    return EXIT_DONE if all(row["ok"] for row in rows) else EXIT_MISSED


def show_kernels(*, as_json: bool) -> None:
    """Print the kernels that can be built."""
    from longhaul.orchestrator.kernels.build import built_kernels

    rows = built_kernels(load_settings())
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(
            f"{row['version']}: {row['kernelrelease']}, {row['hash'][:16]}"
            if row["built"]
            else f"{row['version']}: not built"
        )
