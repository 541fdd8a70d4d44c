"""`longhaul worker`: a process that runs runs for a scheduler, and one that supervises it.

    longhaul worker --------- this module as a process of its own: a Dask worker
      starts it again            ends when its scheduler is gone, and its guests with it
      whenever it ends           waits for a scheduler when it begins

Dask's own nanny ends together with a worker that lost its scheduler, so no process would reconnect later. However either of
the two processes is killed, no guest and no second process is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import signal
import socket
import sys
from typing import Any

import dask
from distributed import Status, Worker

from longhaul.orchestrator.execution.cluster.machines import resources_of
from longhaul.orchestrator.execution.cluster.run_remote import bench
from longhaul.orchestrator.execution.formulas import measured_by
from longhaul.orchestrator.kernels.build import built_kernels
from longhaul.orchestrator.system.logs import log_as_json
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.orchestrator.system.supervise import Stop, keep_going, when_asked_to_stop

_LOG = logging.getLogger("longhaul.worker")

# Guests end within a tenth of a second; the rest of a run is then a little arithmetic.
_CLOSE_WITHIN_S = 10.0

_CONFIG = {
    # Its memory is that of guests, which have their own limits: Dask must neither pause nor kill.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    # Dask's profiler looks at every thread a hundred times a second.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.limit": "60s",
}


def watch_over_worker(scheduler: str, slots: int) -> int:
    """Keep a worker running until it is stopped; the exit code."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    keep_going([sys.executable, "-m", __name__, scheduler, str(slots)], stop, _LOG, "worker")
    return 0


async def _serve(settings: Settings, scheduler: str, slots: int) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        # A worker that is already ending deletes its staging folder: no second signal may interrupt that.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stopped.set)

    # Before the bench, whose staging folder a sudden end would leave behind.
    when_asked_to_stop(stop)
    about = _about(settings)
    bench()
    _LOG.info("waiting for the scheduler %s", scheduler)
    worker = Worker(
        scheduler,
        nthreads=slots,
        name=f"{socket.gethostname()}-{os.getpid()}",
        resources=resources_of(settings, slots),
        memory_limit=0,
        dashboard=False,
        local_directory=str(settings.home / "worker"),
        startup_information={"longhaul": lambda worker: about},
    )
    stopping = asyncio.create_task(stopped.wait())
    living = asyncio.create_task(_live(worker, slots))
    await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if living.done():
        await living
    elif worker.status is Status.running:
        await worker.close(timeout=_CLOSE_WITHIN_S, reason="longhaul-worker-stopped")
    else:
        # It still waits for its scheduler; a worker that has not started cannot be closed.
        living.cancel()


async def _live(worker: Worker, slots: int) -> None:
    await worker
    _LOG.info("%d slots at %s, resources %s", slots, worker.address, worker.state.total_resources)
    await worker.finished()


def _about(settings: Settings) -> dict[str, Any]:
    """Facts about this worker, for users who inspect the scheduler; no code depends on them."""
    modules = {
        row["version"]: sorted(file.stem for file in settings.modules(row["version"]).glob("*.ko"))
        for row in built_kernels(settings)
        if row["built"]
    }
    return {
        "machine": socket.gethostname(),
        "host_kernel": platform.release(),
        "measured_by": measured_by(),
        "kernels": list(modules),
        "modules": modules,
    }


def main() -> int:
    """The worker itself."""
    log_as_json()
    logging.getLogger("distributed").setLevel(logging.WARNING)
    scheduler, slots = sys.argv[1:]
    dask.config.set(_CONFIG)
    asyncio.run(_serve(load_settings(), scheduler, int(slots)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
