"""Kept runs of this machine: read, run again, verify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from longhaul.laboratory.kept_traces import KeptTraces
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.annotations import NOTHING, Annotations
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.lists.orders import read_order
from longhaul.orchestrator.database.lists.run_table import read_columns, table_lines
from longhaul.orchestrator.execution.evaluation import readable, rerun_verdict
from longhaul.orchestrator.execution.other_programs import OtherPrograms
from longhaul.orchestrator.live.export_run import with_grafana
from longhaul.orchestrator.results.seals import damaged
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from longhaul.results.document import Documented
from longhaul.results.run import Run

if TYPE_CHECKING:
    from longhaul.orchestrator.trace.records import Trace


class Rerun(Documented):
    """Whether a run gave the same trace again. Its keys are those of the document that `longhaul rerun --json` prints."""

    def __init__(self, document: Mapping[str, Any], kept_trace_sha256: str) -> None:
        super().__init__(document)
        self._kept_trace_sha256 = kept_trace_sha256

    @property
    def identical(self) -> bool:
        """Whether every byte of the trace is the same."""
        return bool(self["identical"])

    @property
    def differences(self) -> list[str]:
        """The programs that differ from those that made the kept run."""
        return list(self["differences"])

    @property
    def kept_trace_sha256(self) -> str:
        """The hash of the kept trace; `trace_sha256` is that of the new one."""
        return self._kept_trace_sha256

    def __repr__(self) -> str:
        return f"<Rerun of {self['run']}: {'identical' if self.identical else 'differs'}>"


def kept_run(run: str, *, thorough: bool = False) -> Run:
    """A kept run by its id, or the start of it, measured by today's formulas; NotFound, RunDamaged.

    `thorough` compares every byte of its files with their hashes, as `longhaul show` does.
    """
    settings = load_settings()
    store = Store(settings)
    kept = store.get(run)
    if (fault := store.fault(kept["run"], thorough=thorough)) is not None:
        raise fault
    document = with_grafana(settings, readable(kept, store))
    document["other_programs"] = OtherPrograms(settings, store).of_run(kept["run"])
    return Run(document, KeptTraces(store))


def kept_runs(limit: int = 50, *, sort: str = "newest", text: str = "") -> list[dict[str, Any]]:
    """A row for each kept run: those in which every word of `text` occurs, by default newest first.

    `sort` is an order as in `GET /runs`, for instance `-goodput` or `point.path.rtt`. `other_programs` names the programs that made a
    run and are not today's.
    """
    settings = load_settings()
    store = Store(settings)
    rows = store.list_runs(limit, sort, text)
    others = OtherPrograms(settings, store).of_runs([row["id"] for row in rows])
    noted = Annotations(store.database).of([row["id"] for row in rows])
    found = [(row, noted.get(row["id"], NOTHING)) for row in rows]
    return [
        row | {"other_programs": others[row["id"]], "title": words.title, "tags": list(words.tags)}
        for row, words in found
    ]


def kept_run_groups(limit: int = 50, *, sort: str = "newest", text: str = "") -> list[dict[str, Any]]:
    """A row for each experiment name with the number of its kept runs, and the mean, least and most of their results.

    `sort` is an order as in `GET /run-groups`, for instance `-runs` or `-goodput`, whose mean counts.
    """
    groups, _ = Store(load_settings()).catalog.groups(limit, Filter(text=text, kept=True), sort)
    return [group.document() for group in groups]


def kept_run_lines(columns: str = "", *, sort: str = "newest", text: str = "") -> Iterator[str]:
    """The kept runs as CSV, a line for each; `columns` are some of those of `GET /run-table`, all by default."""
    catalog = Store(load_settings()).catalog
    names = read_columns(columns)
    ids = catalog.ids_in_order(Filter(text=text, kept=True), read_order(sort))
    return table_lines(catalog.rows_of(ids), catalog.fields_of(ids), names)


def verify(run: str) -> dict[str, Any]:
    """Compare every file of a kept run with its hash: whole, unsealed or damaged, file by file."""
    from longhaul.orchestrator.results.verification import verification

    store = Store(load_settings())
    run_id = store.get(run)["run"]
    return dict(verification(run_id, store.states(run_id)))


def rerun(run: str, *, original: bool = False) -> Rerun:
    """Run a kept run again from its manifest, with today's programs or those that made it, and compare the traces."""
    from longhaul.orchestrator.backends.originals import original_backend
    from longhaul.orchestrator.execution.pipeline import Pipeline, opened_live

    settings = load_settings()
    store = Store(settings)
    kept = store.get(run)
    if (fault := store.fault(kept["run"], thorough=True)) is not None:
        raise fault
    manifest, planned = store.manifest(kept["run"]), store.planned(kept["run"])
    traces: list[Trace] = []
    with opened_live(settings, store) as live:
        backend = (
            original_backend(planned, manifest["identity"], settings)
            if original
            else open_backend(planned.backend, settings)
        )
        pipeline = Pipeline(backend, store, use_cache=False, live=live, judged=traces.append)
        verdict = rerun_verdict(kept, pipeline.rerun(planned, manifest["spec"]))
    if verdict["identical"] and "files" not in manifest:
        _seal(store, kept["run"], traces[0])
    return Rerun(verdict, kept["trace_sha256"])


def _seal(store: Store, run_id: str, trace: Trace) -> None:
    """Seal a run that was kept before files had hashes: its rerun is identical, so its files must hold the same records."""
    from longhaul.orchestrator.results.traces import FILE_NAMES

    there = store.trace(run_id).kinds()
    for kind, records in trace.kinds().items():
        if records.tobytes() != there[kind].tobytes():
            raise damaged(store.directory(run_id), FILE_NAMES[kind], "its records differ from those of the kept trace")
    store.seal(run_id)
