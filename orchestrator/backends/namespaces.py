"""Owners of the namespaces on a host, so that only those of dead processes are removed.

    /run/longhaul/nets/<mark>         locked by the process that owns the network, as long as it lives
    /run/netns/lh-<mark>-<node>       its namespaces, named so when they are made

A killed process leaves its lock free. The next process that claims a network removes the namespaces of that mark, with the
processes inside and thus with their links. A namespace without such a name or with a living owner is never touched.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.locks import locked, take
from longhaul.orchestrator.system.process import run_script

NETS = Path("/run/longhaul/nets")
NAMESPACES = Path("/run/netns")
_GONE_WITHIN_S = 5.0


@contextlib.contextmanager
def owned(mark: str) -> Iterator[None]:
    """Own the network of this mark; its rest is removed at the end, and those of dead processes at the start."""
    try:
        NETS.mkdir(parents=True, exist_ok=True)
        with locked(NETS / ".lock"):
            sweep()
            lock = take(NETS / mark)
    except OSError as error:
        raise BackendError("claiming a network in", str(NETS), error.strerror or str(error), "run as root") from error
    try:
        yield
    finally:
        remove_net(mark)
        (NETS / mark).unlink(missing_ok=True)
        os.close(lock)


def sweep() -> None:
    """Remove the networks of dead processes."""
    for claim in NETS.iterdir():
        if claim.name.startswith("."):
            continue
        with contextlib.suppress(BlockingIOError), locked(claim, wait=False):
            remove_net(claim.name)
            claim.unlink(missing_ok=True)


def remove_net(mark: str) -> None:
    """Remove the namespaces of one mark and all their processes."""
    for namespace in sorted(NAMESPACES.glob(f"lh-{mark}-*")):
        _end_processes(namespace)
        run_script(["ip", "netns", "delete", namespace.name], "removing the namespace")


def _end_processes(namespace: Path) -> None:
    until = time.monotonic() + _GONE_WITHIN_S
    while (inside := list(_processes(namespace))) and time.monotonic() < until:
        for pid in inside:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _processes(namespace: Path) -> Iterator[int]:
    wanted = namespace.stat()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found = (process / "ns" / "net").stat()
            if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                yield int(process.name)
