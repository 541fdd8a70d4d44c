"""The root folder of a guest: the agent as its first process, folders to mount on, modules, and the files of its run.

A root that a guest has left as it got it serves the next run of the same process. A sweep of short runs would make and delete eight folders a run,
and just after many deletions ext4 takes six to ten times as long to make a folder or a file (docs/performance.md).
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from pathlib import Path

from longhaul.orchestrator.results.staging import spare_folders
from longhaul.orchestrator.system.installation import AGENT

MODULES = "modules"
RUN_FILE = "run.json"
_FIRST_PROCESS = "init"
_FOLDERS = (MODULES, "proc", "sys", "dev", "run")
_USUAL = frozenset({_FIRST_PROCESS, RUN_FILE, *_FOLDERS})


def take_root(directory: Path, agent: Path) -> Path:
    """The root of a run directory: that of an earlier guest of this process, else a new one."""
    spare = spare_folders(directory)
    if spare:
        guest = directory / "guest"
        with contextlib.suppress(IndexError, OSError):
            spare.pop().rename(guest)
            # By their times and sizes, so that a copy on another file system is recognised too.
            if filecmp.cmp(guest / _FIRST_PROCESS, agent):
                (directory / "home").mkdir()
                return guest
    return make_root(directory, agent)


def put_root_away(guest: Path) -> None:
    """Keep the root of a guest that has ended for the next one; delete one that has more in it than each has."""
    directory = guest.parent
    spare = spare_folders(directory)
    if spare is not None and _USUAL.issuperset(file.name for file in guest.iterdir()):
        for file in (guest / RUN_FILE, *(guest / MODULES).iterdir()):
            file.unlink()
        kept = directory.with_name(f"{directory.name}-root")
        guest.rename(kept)
        spare.append(kept)
    else:
        shutil.rmtree(guest)


def make_root(directory: Path, agent: Path | None = None) -> Path:
    """The folder that becomes a guest's root, new, with the agent as its first process."""
    guest, home = directory / "guest", directory / "home"
    for folder in (guest, home):
        # An earlier attempt may have left them.
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
    for folder in (guest, home, *(guest / name for name in _FOLDERS)):
        folder.mkdir(parents=True)
    place(agent or AGENT, guest / _FIRST_PROCESS)
    return guest


def place(source: Path, target: Path) -> None:
    """A hard link where the file system allows one (it costs nothing), else a copy."""
    try:
        os.link(source.resolve() if source.is_symlink() else source, target)
    except OSError:
        try:
            shutil.copy2(source, target)
        except OSError as error:
            # The source is sound; it is the run directory that takes no more.
            raise OSError(error.errno, error.strerror, str(target)) from error
