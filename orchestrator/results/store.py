"""The facade of results: keep a finished run, find it again, read its trace.

    <home>/runs/<first two of id>/<id>/   manifest.json log.txt, one file per kind of record: acks.parquet flows.parquet ...
    <home>/derived/<first two>/<id>/      acks.csv ...: made of the above on request, can be made again
    <home>/catalogue.sqlite               the database, unless LONGHAUL_DATABASE names another
    <home>/partial/<first two>/<id>/      the partial trace of a cancelled run, which is not a result (partial_runs.py)
    <home>/logs/<id>.txt                  the log of a failed run's guest

A run's folder appears by rename when it is complete, its row after it. A process killed between the two leaves a folder
without a row, which the next process that wants that run adopts; there is never half a result.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.results.guest_logs import LOG, failed_log, receive_log
from longhaul.orchestrator.results.packets import keep_packets, pack_packets
from longhaul.orchestrator.results.packing import EndedRun, load_packing, pack_run
from longhaul.orchestrator.results.partial_runs import discard_partial, is_partial, partial_folder
from longhaul.orchestrator.results.seals import (
    CHANGED,
    MANIFEST,
    State,
    check_quickly,
    damaged,
    read_manifest,
    sealed_files,
    write_manifest,
)
from longhaul.orchestrator.system.errors import NotFound, ResultsError, RunDamaged, TraceError, remedy
from longhaul.orchestrator.system.settings import Settings

if TYPE_CHECKING:
    from longhaul.orchestrator.database.catalog import Catalog
    from longhaul.orchestrator.database.connection import Database
    from longhaul.orchestrator.database.leases import Leases
    from longhaul.orchestrator.database.run_index import RunIndex
    from longhaul.orchestrator.plan.run import Run
    from longhaul.orchestrator.plan.run_document import RunDocument
    from longhaul.orchestrator.results.shared_columns import SharedColumns
    from longhaul.orchestrator.results.staging import Staging
    from longhaul.orchestrator.trace.records import ColumnSource, Trace

# Two ids are enough to notice that a beginning is ambiguous.
_AMBIGUOUS = 2
_CATALOGUE = "catalogue.sqlite"
_RUN_ID = re.compile("[0-9a-f]{20}")


class Store:
    """All kept runs of one home."""

    def __init__(self, settings: Settings, patience_s: float | None = None) -> None:
        self.settings = settings
        self.home = settings.home
        self._patience = {} if patience_s is None else {"patience_s": patience_s}
        self._database_url = settings.database or f"sqlite:///{settings.home / _CATALOGUE}"

    @cached_property
    def database(self) -> Database:
        """The database with this home's runs."""
        from longhaul.orchestrator.database.connection import Database

        return Database(self._database_url, **self._patience)

    @cached_property
    def catalog(self) -> Catalog:
        """The runs in that database."""
        from longhaul.orchestrator.database.catalog import Catalog

        return Catalog(self.database)

    @cached_property
    def index(self) -> RunIndex:
        """The documents of kept runs, found and recorded without the libraries of databases where that is possible."""
        from longhaul.orchestrator.database.run_index import RunIndex

        file = None if self.settings.database else self.home / _CATALOGUE
        return RunIndex(file, lambda: self.catalog)

    @property
    def leases(self) -> Leases:
        """Which run or user has which host."""
        from longhaul.orchestrator.database.leases import Leases

        return Leases(self.database)

    def make_ready(self) -> None:
        """Load the libraries that keeping needs."""
        self.index.make_ready()
        load_packing()

    def keep(self, ended: EndedRun) -> None:
        """Turn a run directory into a kept run. Keeping the same run twice keeps the first."""
        run, run_id, document = ended.run, ended.run_id, ended.document
        packets = None if run.capture is None else pack_packets(ended.directory, run, run_id, ended.trace)
        plain_run = replace(run, capture=None)
        pack_run(replace(ended, run=plain_run))
        kept, replaced = self._shelve(ended.directory, run_id, document)
        try:
            if packets is not None:
                kept_sha256 = self.manifest(run_id)["trace_sha256"]
                keep_packets(packets, self.derived(run_id), run, kept_sha256 == document["trace_sha256"])
        finally:
            # Its experiment ends with its row, and then its packets must be there.
            self._record(run_id, kept, plain_run.as_json(), replaced)

    def receive(self, run_id: str, files: Mapping[str, bytes], staging: Staging) -> RunDocument:
        """Keep a run of another machine, from its finished files; the document that is now kept.

        Refuses any other run, and incomplete ones. Keeping the same run twice keeps the first.
        """
        from longhaul.orchestrator.results.verification import received_manifest

        manifest = received_manifest(run_id, files)
        try:
            with staging.directory(run_id) as directory:
                for name, content in files.items():
                    (directory / name).parent.mkdir(exist_ok=True)
                    (directory / name).write_bytes(content)
                shelved = self._shelve(directory, run_id, manifest["document"])
                self._record(run_id, shelved[0], manifest["run"], shelved[1])
        except OSError as error:
            hint = remedy(error, "set LONGHAUL_HOME to another folder")
            raise ResultsError("receiving run", run_id, error.strerror or str(error), hint) from error
        kept: RunDocument = self.manifest(run_id)["document"]
        return kept

    def _shelve(self, directory: Path, run_id: str, document: RunDocument) -> tuple[RunDocument, bool]:
        """Put a packed run in its place; the document that counts, and whether it replaced a damaged run."""
        target = self.directory(run_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        replaced = False
        try:
            directory.rename(target)
        except OSError:
            # A non-empty folder refuses the rename: another process kept it first, and that counts.
            replaced = self.fault(run_id, thorough=True) is not None
            if replaced:
                self._put_in_place(directory, target)
            else:
                with contextlib.suppress(ResultsError, RunDamaged):
                    document = self.manifest(run_id)["document"]
        if not target.is_dir():
            raise ResultsError("keeping run", run_id, f"{target} did not appear", "is LONGHAUL_HOME one file system?")
        if replaced:
            shutil.rmtree(self.derived(run_id), ignore_errors=True)
        return document, replaced

    def _record(self, run_id: str, document: RunDocument, run: Mapping[str, Any], replaced: bool) -> None:
        self.index.add(run_id, document, run)
        if replaced:
            self.catalog.revise(run_id, document)

    def _put_in_place(self, directory: Path, target: Path) -> None:
        """Replace a damaged run, and then delete it."""
        old = directory.with_name(f"{directory.name}-damaged")
        try:
            target.rename(old)
            directory.rename(target)
        except OSError as error:
            hint = remedy(error, "set LONGHAUL_HOME to another folder")
            raise ResultsError("replacing run", target.name, error.strerror or str(error), hint) from error
        shutil.rmtree(old, ignore_errors=True)

    def fault(self, run_id: str, *, thorough: bool = False) -> RunDamaged | None:
        """The damage to the files of a kept run, by the manifest and file sizes, or by their whole content."""
        folder = self.directory(run_id)
        try:
            if not thorough:
                check_quickly(folder)
                return None
            self.manifest(run_id)
            for name, state in self.states(run_id).items():
                if state in ("damaged", "missing"):
                    return damaged(folder, name, "it is missing" if state == "missing" else CHANGED)
        except RunDamaged as error:
            return error
        return None

    def states(self, run_id: str) -> dict[str, State]:
        """The state of every file of a kept run, read anew."""
        from longhaul.orchestrator.results.verification import examine

        return examine(self.directory(run_id))

    def seal(self, run_id: str) -> None:
        """Give a run without hashes in its manifest those of its files, once they are known to be right."""
        folder = self.directory(run_id)
        write_manifest(folder, self.manifest(run_id) | {"files": sealed_files(folder)})

    def revise(self, document: RunDocument) -> None:
        """Replace the document of a kept run."""
        folder = self.directory(document["run"])
        write_manifest(folder, self.manifest(document["run"]) | {"document": dict(document)})
        self.catalog.revise(document["run"], document)

    def keep_log(self, directory: Path, run_id: str) -> str:
        """Keep a dead guest's log; a sentence on how to read it, or "" without a log."""
        try:
            return receive_log(self.home, run_id, (directory / LOG).read_bytes())
        except OSError:
            return ""

    def has_failed_log(self, run_id: str) -> bool:
        """Whether the log of its dead guest is all that exists of this run."""
        return bool(_RUN_ID.fullmatch(run_id)) and not self.is_kept(run_id) and failed_log(self.home, run_id).is_file()

    def count_death(self) -> None:
        """Count the death of a guest; it is not counted while the database cannot be reached."""
        from longhaul.orchestrator.database.counters import Counts

        with contextlib.suppress(ResultsError):
            Counts(self.database).add(guest_deaths=1)

    def find(self, run_id: str) -> RunDocument | None:
        """The document of exactly this run, if it is kept; a folder without a row counts."""
        if not self.is_kept(run_id):
            return None
        known: RunDocument = self.index.document(run_id) or self.manifest(run_id)["document"]
        return known

    def adopt(self, document: RunDocument) -> None:
        """Give a kept run its row, if the process that kept it died before that."""
        if self.index.document(document["run"]) is None:
            self.index.add(document["run"], document, self.manifest(document["run"])["run"])

    def get(self, start: str) -> RunDocument:
        """The document of the one run whose id begins with this."""
        ids = self.catalog.ids_beginning(start, _AMBIGUOUS)
        if not ids:
            raise NotFound(
                "looking for run", start, "no kept run has an id that begins with it", "see `longhaul list runs`"
            )
        if len(ids) == _AMBIGUOUS:
            raise NotFound("looking for run", start, "several runs have ids that begin with it", "give more of the id")
        document = self.catalog.document(ids[0])
        assert document is not None
        return document

    def list_runs(self, limit: int, sort: str = "newest", text: str = "") -> list[dict[str, Any]]:
        """Kept runs, one row each: those that a text finds, in an order."""
        return [row | {"point": json.loads(row["point"])} for row in self.catalog.kept(limit, sort, text)]

    def directory(self, run_id: str) -> Path:
        """The folder of a kept run."""
        return self.home / "runs" / run_id[:2] / run_id

    def is_kept(self, run_id: str) -> bool:
        """Whether a run is there, with its trace."""
        return (self.directory(run_id) / MANIFEST).is_file()

    def manifest(self, run_id: str) -> dict[str, Any]:
        """All data of a kept run but its trace."""
        found = read_manifest(self.directory(run_id))
        if found["run_id"] != run_id:
            raise damaged(self.directory(run_id), MANIFEST, f"it is that of run {found['run_id']}")
        return found

    def is_partial(self, run_id: str) -> bool:
        """Whether a cancelled run's partial trace is there."""
        return is_partial(self.home, run_id)

    def run_document(self, run_id: str) -> Mapping[str, Any] | None:
        """The run.json of a kept run; None for others."""
        found: Mapping[str, Any] | None = self.manifest(run_id)["run"] if self.is_kept(run_id) else None
        return found

    def planned(self, run_id: str) -> Run:
        """A run with a trace, as it was planned; TraceError if another version of Longhaul wrote it in another format."""
        from longhaul.orchestrator.plan.run import Run

        try:
            return Run.from_json(self._manifest_of_trace(run_id)["run"])
        except (LookupError, TypeError, ValueError) as error:
            what = f"this version of Longhaul cannot read it ({type(error).__name__}: {error})"
            hint = f"its numbers are in `longhaul show {run_id} --json`; the version that made it reads the rest"
            raise TraceError("reading the plan of run", run_id, what, hint) from error

    def reached_s(self, run_id: str) -> float | None:
        """The second up to which the trace of a cancelled run reaches; None for a whole trace."""
        if self.is_kept(run_id):
            return None
        found: float | None = self._manifest_of_trace(run_id).get("partial", {}).get("reached_s")
        return found

    def _manifest_of_trace(self, run_id: str) -> dict[str, Any]:
        if self.is_kept(run_id):
            return self.manifest(run_id)
        try:
            return read_manifest(partial_folder(self.home, run_id))
        except RunDamaged as error:
            if self.is_partial(run_id):
                raise
            if self.directory(run_id).is_dir():
                return self.manifest(run_id)
            # The run was started again meanwhile.
            raise NotFound(
                "reading the trace of run", run_id, "its partial trace is gone", "see `longhaul list runs`"
            ) from error

    def trace(self, run_id: str) -> Trace:
        """The trace of a kept run."""
        from longhaul.orchestrator.results.traces import read_traces

        return read_traces(self.directory(run_id))

    def trace_folder(self, run_id: str) -> Path:
        """The folder of a kept run, whose trace is whole; never outside the store, whatever the id."""
        if _RUN_ID.fullmatch(run_id) and self.is_kept(run_id):
            return self.directory(run_id)
        raise NotFound("looking for run", run_id, "no kept run has this id", "see `longhaul list runs`")

    def columns(self, run_id: str) -> ColumnSource:
        """The trace of a kept run as columns, read on request; or a cancelled run's partial trace."""
        from longhaul.orchestrator.results.traces import read_columns

        return partial(read_columns, self._traced(run_id))

    def shared_columns(self, run_id: str) -> SharedColumns:
        """The same for a chart of many series, to be closed when it is made."""
        from longhaul.orchestrator.results.shared_columns import SharedColumns

        return SharedColumns(self._traced(run_id))

    def file_names(self, run_id: str) -> list[str]:
        """The names of files of a kept run, or of a cancelled run's partial trace, to download."""
        from longhaul.orchestrator.results.downloads import names_in

        return names_in(self._traced(run_id), self.derived(run_id))

    def file(self, run_id: str, name: str) -> Path:
        """A file of a kept run to download, by a name of `downloads.DOWNLOADS`; of a failed run, its log."""
        from longhaul.orchestrator.results.downloads import DOWNLOADS, file_of

        if name == LOG and self.has_failed_log(run_id):
            return failed_log(self.home, run_id)
        kept = self._traced(run_id)
        if name not in DOWNLOADS:
            raise NotFound("looking for file", name, "a run has no such file", f"known: {', '.join(DOWNLOADS)}")
        # Files derived from a partial trace are deleted with it.
        is_whole = kept == self.directory(run_id)
        return file_of(kept, self.derived(run_id) if is_whole else kept / "derived", name)

    def _traced(self, run_id: str) -> Path:
        """The same, or the folder of a cancelled run's partial trace."""
        if _RUN_ID.fullmatch(run_id) and not self.is_kept(run_id) and self.is_partial(run_id):
            return partial_folder(self.home, run_id)
        return self.trace_folder(run_id)

    def derived(self, run_id: str) -> Path:
        """The folder of files that are made of a kept run on request."""
        return self.home / "derived" / run_id[:2] / run_id

    def delete(self, run_id: str) -> None:
        """Delete a run: its row first, so that there is never a row without files."""
        self.catalog.remove([run_id])
        self._discard(run_id)

    def let_go(self, run_id: str) -> str | None:
        """Delete a run unless an experiment, baseline or pin needs it; then that reason."""
        why = self.catalog.let_go(run_id)
        if why is None:
            self._discard(run_id)
        return why

    def _discard(self, run_id: str) -> None:
        shutil.rmtree(self.directory(run_id), ignore_errors=True)
        shutil.rmtree(self.derived(run_id), ignore_errors=True)
        discard_partial(self.home, run_id)
