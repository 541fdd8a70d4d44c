"""What each verb of the command line does, in the words of the modules of the road; printing is console.py's."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from orchestrator.backends import open_backend
from orchestrator.backends.base import Backend
from orchestrator.errors import BackendUnavailable, LonghaulError, PlanError
from orchestrator.judging import kept_run, rerun_verdict, up_to_date
from orchestrator.pipeline import Document, Pipeline
from orchestrator.plan import Plan, compile_plan
from orchestrator.results.store import Store
from orchestrator.run import Run
from orchestrator.settings import Settings, load_settings
from orchestrator.spec import load_experiment

EXIT_DONE, EXIT_MISSED, EXIT_FAILED = 0, 1, 4

_CHART_COLUMNS = 110


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

    def compile(self, settings: Settings) -> tuple[Backend, Plan]:
        """Where the runs will be, and what they are."""
        backend = open_backend(self.backend, settings)
        experiment = load_experiment(self.name, self.changes)
        return backend, compile_plan(
            experiment, seed=self.seed, repeats=self.repeats, backend=self.backend, where=self.where, clock=self.clock
        )


def run_experiment(
    asked: Asked,
    *,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    junit: Path | None,
    report: Path | None,
    use_cache: bool,
) -> int:
    """Compile, carry out, print; the exit code."""
    from orchestrator.analysis.aggregate import summarise_repeats

    settings = load_settings()
    backend, plan = asked.compile(settings)
    store = Store(settings)
    pipeline = Pipeline(backend, store, use_cache)
    # By the real clock two runs at a time would be in each other's way.
    jobs = 1 if plan.runs[0].clock == "real" else jobs or settings.jobs
    documents = carry_out(pipeline, plan, jobs, quiet=as_json)
    result = {
        "experiment": plan.experiment.experiment,
        "runs": documents,
        "summary": summarise_repeats([d for d in documents if d["status"] != "failed"], plan.experiment.aggregate),
    }
    if as_json:
        print(json.dumps(result))
    else:
        _print_result(result, plan, store)
    _write_extras(result, store, out=out, junit=junit, report=report)
    return _exit_code(documents)


def carry_out(pipeline: Pipeline, plan: Plan, jobs: int, *, quiet: bool) -> list[Document]:
    """The documents of a plan, with its progress on a terminal unless nothing is to be shown."""
    if quiet:
        return pipeline.execute(plan, jobs)
    from orchestrator.console import RunProgress, progress_console

    with RunProgress(plan, progress_console()) as watcher:
        pipeline.watcher = watcher
        return pipeline.execute(plan, jobs)


def _exit_code(documents: Sequence[Document]) -> int:
    statuses = {document["status"] for document in documents}
    if "failed" in statuses:
        return EXIT_FAILED
    return EXIT_MISSED if "missed" in statuses else EXIT_DONE


def _print_result(result: Document, plan: Plan, store: Store) -> None:
    from orchestrator import console as screen

    console = screen.results_console()
    documents: list[Document] = result["runs"]
    for line in plan.lint:
        screen.notes_console().print(f"note: {line}", style="yellow", highlight=False, markup=False)
    if len(documents) == 1 and documents[0]["status"] != "failed":
        _print_run(console, documents[0], store)
        return
    many = len(documents) > screen.MANY
    if not many and len(documents) > 1:
        console.print(screen.flow_table(documents))
    if result["summary"] and (many or plan.experiment.repeats > 1):
        console.print(screen.summary_table(result["summary"]))
    problems = [line for document in documents for line in screen.problem_lines(document)]
    for line in problems[: screen.MANY]:
        console.print(line, style="red", highlight=False, markup=False)
    if len(problems) > screen.MANY:
        console.print(f"and {len(problems) - screen.MANY} more", style="red", highlight=False)
    if many:
        console.print(screen.count_line(documents), highlight=False)


def _print_run(console: Console, document: Document, store: Store) -> None:
    from orchestrator import console as screen
    from orchestrator.analysis.chart import run_charts

    manifest = store.manifest(document["run"])
    run, trace = Run.from_json(manifest["run"]), store.trace(document["run"])
    chart = run_charts(run, trace, min(console.width, _CHART_COLUMNS), colour=console.color_system is not None)
    console.print(chart, highlight=False)
    console.print(screen.flow_table([document]))
    lines = [
        *screen.link_lines(document),
        *screen.phase_lines(document),
        screen.fidelity_line(document),
        *screen.expectation_lines(document),
        screen.clock_line(document),
    ]
    for line in lines:
        console.print(line, highlight=False)
    console.print(f"run {document['run']}", highlight=False)


def _write_extras(result: Document, store: Store, *, out: Path | None, junit: Path | None, report: Path | None) -> None:
    if junit is not None:
        from orchestrator.analysis.junit import junit_xml

        junit.write_text(junit_xml(result))
    if report is not None:
        write_report([document["run"] for document in result["runs"] if document["status"] != "failed"], report, store)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "result.json").write_text(json.dumps(result, indent=1))
        for document in result["runs"]:
            if document["status"] != "failed":
                shutil.copytree(store.directory(document["run"]), out / document["run"], dirs_exist_ok=True)


def show_plan(asked: Asked, *, picture: Path | None, as_json: bool) -> None:
    """Print the resolved plan, and draw its topology."""
    from orchestrator.describe import describe_plan
    from orchestrator.picture import as_svg, picture_of

    _, plan = asked.compile(load_settings())
    if picture is not None:
        picture.write_text(as_svg(picture_of(plan.graph), plan.experiment.topology))
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
    from orchestrator.catalogues import CATALOGUES

    rows = Store(load_settings()).list_runs(limit=limit) if noun == "runs" else CATALOGUES[noun]()
    if as_json:
        print(json.dumps(rows))
        return
    from orchestrator.console import plain_table, results_console

    results_console().print(plain_table(rows) if rows else f"no {noun} yet")


def show_run(key: str, *, as_json: bool) -> None:
    """Print a kept run."""
    store = Store(load_settings())
    document = up_to_date(store.get(key), store)
    if as_json:
        print(json.dumps(document))
    else:
        from orchestrator.console import results_console

        _print_run(results_console(), {**document, "cached": True}, store)


def write_report(keys: Sequence[str], output: Path, store: Store | None = None) -> None:
    """Write kept runs as HTML, SVG or PNG, by the file's ending."""
    from orchestrator.analysis.report import write_report as write

    store = store or Store(load_settings())
    runs = [kept_run(key, store) for key in keys]
    if not runs:
        raise PlanError("writing a report to", str(output), "no run finished, so there is nothing to show")
    write(runs, output)
    print(f"report: {output}", file=sys.stderr)


def export_run(key: str, to: str, output: Path | None) -> None:
    """Write a kept run's trace in another format."""
    from orchestrator.results.export import export_trace

    store = Store(load_settings())
    document = store.get(key)
    folder = output or Path(document["run"])
    for file in export_trace(store, document["run"], to, folder):
        print(file)


def rerun_run(key: str, *, as_json: bool) -> int:
    """Run again from the manifest and say whether every byte of the trace is the same."""
    settings = load_settings()
    store = Store(settings)
    kept = store.get(key)
    manifest = store.manifest(kept["run"])
    run = Run.from_json(manifest["run"])
    pipeline = Pipeline(open_backend(run.backend, settings), store, use_cache=False)
    verdict = rerun_verdict(kept, pipeline.rerun(run, manifest["spec"]))
    then, now = kept["trace_sha256"][:16], verdict["trace_sha256"][:16]
    if as_json:
        print(json.dumps(verdict))
    else:
        same = verdict["identical"]
        print(f"{kept['run']}: {f'identical, trace {now}' if same else f'differs, trace {then} then, {now} now'}")
        for line in verdict["differences"]:
            print(line)
    return EXIT_DONE if verdict["identical"] else EXIT_MISSED


def check_machine(*, as_json: bool) -> int:
    """Print what each backend lacks here; exit code 3 where the sandbox, on which all can run, lacks something."""
    from orchestrator.toolchain import known_kernels

    settings = load_settings()
    rows: list[dict[str, Any]] = []
    for name, where in (("sandbox", None), ("mininet", "guest"), ("mininet", "host")):
        probe = compile_plan(load_experiment("quick"), backend=name, where=where).runs[0]
        missing = open_backend(name, settings).check(probe)
        rows.append(
            {
                "backend": name if where is None else f"{name} --in {where}",
                "ready": not missing,
                "missing": [{"piece": piece, "remedy": remedy} for piece, remedy in missing],
            }
        )
    if as_json:
        print(json.dumps({"kernels": known_kernels(), "backends": rows}))
    else:
        for row in rows:
            print(f"{row['backend']}: {'ready' if row['ready'] else 'not ready'}")
            for piece in row["missing"]:
                print(f"  {piece['piece']} is missing: {piece['remedy']}")
    return EXIT_DONE if rows[0]["ready"] else 3


def check_modules(paths: Sequence[str], kernel: str, *, as_json: bool) -> int:
    """Print whether each congestion control loads and works in a guest."""
    from orchestrator.trial import trials

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
        from orchestrator.console import plain_table, results_console

        results_console().print(plain_table([{**row, "ok": "yes" if row["ok"] else "no"} for row in rows]))
    return EXIT_DONE if all(row["ok"] for row in rows) else EXIT_MISSED


def show_kernels(*, as_json: bool) -> None:
    """Print the kernels that can be built."""
    from orchestrator.toolchain import built_kernels

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
