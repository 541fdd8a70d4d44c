"""Back up a home into one file, and restore it.

    longhaul-backup.json   format and version
    record.jsonl           the database (database/dump.py)
    runs/<..>/<id>/...     the kept runs, as they lie in the home

The database is read first and the runs after it, so a run that is kept meanwhile is in the file without a row and is
adopted later; there is never a row without its run. The service may keep running during a backup.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

from longhaul.orchestrator.database.dump import dump, is_empty, load
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import PlanError, ResultsError, remedy
from longhaul.orchestrator.system.files import whole
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import locked, making

_ABOUT, _RECORD, _RUNS = "longhaul-backup.json", "record.jsonl", "runs"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Saved:
    """The contents of a backup."""

    runs: int
    file_bytes: int
    # The runs whose files have changed since they were kept.
    damaged: tuple[str, ...] = ()


def back_up(store: Store, output: Path) -> Saved:
    """Write the home into a file, whole or not at all."""
    with whole(output) as place, tempfile.TemporaryFile("w+b") as record:
        # A reader of the file can read the database: hashes of tokens, the log of changes.
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600))
        runs, damaged = _write(store, place, record)
    return Saved(runs, output.stat().st_size, tuple(damaged))


def _write(store: Store, place: Path, record: IO[bytes]) -> tuple[int, list[str]]:
    runs, damaged = 0, list[str]()
    with tarfile.open(place, "w") as archive:
        for line in dump(store.database):
            record.write(line.encode())
        about = {"format": _FORMAT, "version": version("longhaul")}
        _add(archive, _ABOUT, io.BytesIO(json.dumps(about).encode()))
        _add(archive, _RECORD, record)
        for folder in sorted((store.home / "runs").glob("??/*")):
            fault = store.fault(folder.name, thorough=True)
            if _add_run(archive, folder):
                runs += 1
                if fault is not None:
                    damaged.append(folder.name)
    return runs, damaged


def restore(store: Store, source: Path) -> Saved:
    """Restore a backup into an empty home."""
    if not is_empty(store.database):
        hint = "set LONGHAUL_HOME to a folder without runs, and LONGHAUL_DATABASE to an empty database"
        raise PlanError("restoring into", str(store.home), "it contains runs", hint)
    try:
        with locked(store.home / "dispatch.lock", wait=False), tarfile.open(source) as archive:
            _check(archive, source)
            with making(store.home / _RUNS) as folder:
                _unpack(archive, folder)
                runs = list((folder / _RUNS).glob("??/*"))
                with (folder / _RECORD).open() as lines:
                    load(store.database, lines, str(source), lambda: _bring(runs, store))
    except BlockingIOError:
        raise PlanError("restoring into", str(store.home), "a service is running on it", "stop it first") from None
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise ResultsError("restoring from", str(source), str(error), "is it a file of `longhaul backup`?") from error
    damaged = sorted(run.name for run in runs if store.fault(run.name, thorough=True) is not None)
    return Saved(len(runs), source.stat().st_size, tuple(damaged))


def _bring(runs: Sequence[Path], store: Store) -> None:
    for run in runs:
        target = store.directory(run.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        run.rename(target)


def _add(archive: tarfile.TarFile, name: str, content: Any) -> None:
    info = tarfile.TarInfo(name)
    info.size = content.seek(0, os.SEEK_END)
    content.seek(0)
    archive.addfile(info, content)


def _add_run(archive: tarfile.TarFile, folder: Path) -> bool:
    """A run that is pruned at this moment is left out, as if the backup had been made after that."""
    try:
        contents = [(file, file.read_bytes()) for file in sorted(folder.rglob("*")) if not file.is_dir()]
        # A listing of a folder that is being deleted may be incomplete.
        folder.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        what, hint = error.strerror or str(error), remedy(error) or "check the file with `longhaul verify`"
        raise ResultsError("reading a file of a kept run,", str(error.filename), what, hint) from error
    for file, content in contents:
        place = file.relative_to(folder).as_posix()
        _add(archive, f"{_RUNS}/{folder.parent.name}/{folder.name}/{place}", io.BytesIO(content))
    return True


def _unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack plain files below the folder, and nothing else. tarfile's own filters are not in every Python 3.11, for example Debian 12's."""
    for member in archive:
        place = PurePosixPath(member.name)
        content = archive.extractfile(member) if member.isreg() else None
        if content is None or place.is_absolute() or ".." in place.parts:
            what = f"{member.name} is not a plain file of a home"
            raise ValueError(what)
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)


def _check(archive: tarfile.TarFile, source: Path) -> None:
    about = archive.extractfile(_ABOUT)
    found = json.loads(about.read()) if about else None
    read = found.get("format") if isinstance(found, dict) else None
    if read != _FORMAT:
        what = f"its format is {read!r}, this version reads {_FORMAT}"
        raise ResultsError("restoring from", str(source), what)
