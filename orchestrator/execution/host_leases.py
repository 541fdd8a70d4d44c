"""A run on real hosts holds the leases of its hosts as long as it runs, and ends as soon as one of them is lost.

    take all, in the order of their names  ->  renew while it runs  ->  give back
              |                                   `-- lost: the run is ended at its next progress report
              '-- one is taken: HostBusy, and the leases taken so far are given back

The lab's own cap is enforced here too: the caps of all leased hosts together do not exceed it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.results.run_sink import RunSink
from longhaul.orchestrator.system.errors import HostBusy, LeaseLost, ResultsError
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.units import format_rate

if TYPE_CHECKING:
    from longhaul.orchestrator.database.leases import Leases
    from longhaul.orchestrator.spec.host_policy import Policy

# A dead process delays others no longer than this; the endpoints themselves stop earlier.
LEASE_S = 20.0
_RENEW_S = 2.0

Watch = Callable[[Progress], Progress]


@contextmanager
def hold_hosts_of_run(run: Run, key: str, sink: RunSink) -> Iterator[Watch]:
    """Hold the leases of a run's hosts; the wrapper of its progress ends the run when one is lost. Runs without hosts hold none."""
    if not run.hosts:
        yield lambda progress: progress
        return
    names, senders = [host.node for host in run.machines], {flow.from_node for flow in run.flows}
    with hold(names, sorted(senders), f"run {key}", run.title, sink.leases, sink.settings) as check:

        def watch(progress: Progress) -> Progress:
            def report(reached_ns: int) -> None:
                check()
                progress(reached_ns)

            return report

        yield watch


@contextmanager
def hold(
    names: Sequence[str], senders: Sequence[str], who: str, about: str, leases: Leases, settings: Settings
) -> Iterator[Callable[[], None]]:
    """Hold the leases of these hosts, some of which send; the returned check raises LeaseLost as soon as one is lost."""
    from longhaul.orchestrator.spec.host_policy import load_policy

    holder = f"{who} of {socket.gethostname()}-{os.getpid()}-{threading.get_native_id()}"
    fences: dict[str, int] = {}
    try:
        for name in sorted(names):
            fences[name] = _take(leases, name, holder, about)
        _check_lab_rate(load_policy(settings), leases, senders, holder)
        with _renewed(leases, fences, holder) as lost:

            def check() -> None:
                if lost:
                    raise LeaseLost("running on", lost[0], _whose(leases, lost[0]), "ask its holder, then run it again")

            yield check
    finally:
        for name, fence in fences.items():
            leases.give_back(name, holder, fence)


def _take(leases: Leases, name: str, holder: str, about: str) -> int:
    fence = leases.take(name, holder, LEASE_S, about)
    if fence is None:
        raise HostBusy(
            "taking host", name, _whose(leases, name), "wait for it, or ask its holder; see `longhaul hosts list`"
        )
    return fence


def _whose(leases: Leases, name: str) -> str:
    found = leases.get(name)
    if found is None or found["holder"] is None:
        return "its lease ran out, because the database could not be reached"
    return f"{found['holder']} has it" + (f" for {found['about']}" if found["about"] else "")


def _check_lab_rate(policy: Policy, leases: Leases, senders: Sequence[str], holder: str) -> None:
    """Check the lab's cap over all leased hosts that may send; a manually leased host counts, as its use is unknown."""
    if policy.rate_bps is None:
        return
    others = [
        one["name"] for one in leases.all() if one["holder"] not in (None, holder) and one["name"] in policy.hosts
    ]
    used = sum(policy.host(name).rate_bps for name in others)
    wanted = sum(policy.host(name).rate_bps for name in senders)
    if used + wanted > policy.rate_bps:
        what = f"{', '.join(others)} may send {format_rate(used)} at the moment, and the lab {format_rate(policy.rate_bps)}"
        raise HostBusy("taking hosts", ", ".join(senders), what, "wait until they are free")


@contextmanager
def _renewed(leases: Leases, fences: dict[str, int], holder: str) -> Iterator[list[str]]:
    """Renew in a thread; the names of lost hosts appear in the list."""
    lost: list[str] = []
    over = threading.Event()

    def renew() -> None:
        good_at = time.monotonic()
        while not over.wait(_RENEW_S) and not lost:
            try:
                lost.extend(name for name, fence in fences.items() if not leases.renew(name, holder, fence, LEASE_S))
                good_at = time.monotonic()
            except ResultsError:
                if time.monotonic() - good_at > LEASE_S:
                    lost.extend(fences)

    thread = threading.Thread(target=renew, name="leases", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        over.set()
        thread.join()
