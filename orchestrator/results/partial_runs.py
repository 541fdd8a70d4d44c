"""Partial traces of cancelled runs: to look at, but not results.

    <home>/partial/<first two of id>/<id>/    manifest.json log.txt acks.parquet ...: the form of a kept run's folder

No measure is computed from it and no request is answered from it: a later request runs the run from its start, which deletes the partial
trace. It is also deleted with the run, and by age as the logs of failed runs are.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.results.seals import MANIFEST, PARTIAL, sealed_files, sealed_text
from longhaul.orchestrator.system.errors import LonghaulError, RunCancelled

# A cancel takes only a moment, and little memory.
_LARGEST_BYTES = 2**30
_TRACE = "trace.bin"


def partial_folder(home: Path, run_id: str) -> Path:
    """The folder of a run's partial trace."""
    return home / PARTIAL / run_id[:2] / run_id


def is_partial(home: Path, run_id: str) -> bool:
    """Whether there is one."""
    return (partial_folder(home, run_id) / MANIFEST).is_file()


def partial_stamp(home: Path, run_id: str) -> int:
    """A number that differs between partial traces of the same run; 0 if there is none."""
    try:
        return (partial_folder(home, run_id) / MANIFEST).stat().st_mtime_ns
    except OSError:
        return 0


def discard_partial(home: Path, run_id: str) -> None:
    """Delete it."""
    shutil.rmtree(partial_folder(home, run_id), ignore_errors=True)


def partial_folders(home: Path) -> Iterator[Path]:
    """The folders of all partial traces."""
    yield from (home / PARTIAL).glob("??/*")


class Part:
    """Preserves a run's trace when the run is cancelled, because its folder is deleted with its guest.

    A cancel never fails because of it.
    """

    def __init__(
        self,
        home: Path,
        directory: Path,
        traces: Sequence[Path],
        run: Run,
        run_id: str,
        spec: Mapping[str, Any],
        wanted: Callable[[], bool],
    ) -> None:
        self._home, self._directory, self._traces = home, directory, traces
        self._run, self._run_id, self._spec, self._wanted = run, run_id, spec, wanted
        # Next to the run's own folder, with a different prefix, because live views find a run's folder by its name.
        self._made = directory.parent / f"{PARTIAL}-{directory.name}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(value, RunCancelled) and self._made.is_dir():
            with contextlib.suppress(OSError, LonghaulError):
                value.reached_s = self._keep()
        shutil.rmtree(self._made, ignore_errors=True)

    def watched(self, progress: Progress) -> Progress:
        """The same progress function, which also preserves the trace when it ends the run."""

        def watched(virtual_ns: int) -> None:
            try:
                progress(virtual_ns)
            except RunCancelled:
                with contextlib.suppress(OSError):
                    self._preserve()
                raise

        return watched

    def _preserve(self) -> None:
        source = next((trace for trace in self._traces if trace.is_file()), None)
        if source is None or not self._wanted() or source.stat().st_size > _LARGEST_BYTES:
            return
        self._made.mkdir()
        # Another name of the same file: the guest may still be writing to it.
        os.link(source, self._made / _TRACE)
        log = self._directory / "log.txt"
        (self._made / "log.txt").write_bytes(log.read_bytes() if log.is_file() else b"")

    def _keep(self) -> float | None:
        import numpy as np

        from longhaul.orchestrator.results.traces import write_traces
        from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES, is_header, split_records

        file = self._made / _TRACE
        with file.open("rb") as source:
            if not is_header(source.read(HEADER_BYTES)):
                return None
            body = np.fromfile(source, dtype=np.uint8)
        file.unlink()
        # The guest may have ended in the middle of a record.
        trace = split_records(body[: len(body) // RECORD_BYTES * RECORD_BYTES])
        newest_ns = max((int(records["t_ns"].max()) for records in trace.kinds().values() if len(records)), default=0)
        if not newest_ns:
            return None
        reached_s = min(newest_ns / 1e9, self._run.duration_us / 1e6)
        write_traces(self._made, trace)
        manifest = {
            "format": 1,
            "run_id": self._run_id,
            "spec": dict(self._spec),
            "run": self._run.as_json(),
            PARTIAL: {"reached_s": reached_s},
            "files": sealed_files(self._made),
        }
        (self._made / MANIFEST).write_text(sealed_text(manifest))
        discard_partial(self._home, self._run_id)
        target = partial_folder(self._home, self._run_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._made.rename(target)
        return reached_s
