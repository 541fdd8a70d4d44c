"""The hosts of a lab as users see them: permitted uses, lease holders, last known states; and a stop of all runs on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from longhaul.orchestrator.backends.hosts.health import read_health
from longhaul.orchestrator.backends.hosts.ssh_channel import AGENT_ON_HOST, ssh_command
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.host_policy import HostPolicy, Policy, load_policy
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.process import ask_program
from longhaul.orchestrator.system.settings import Settings

Row = dict[str, Any]

# Long enough for a user to find the cause before the next run begins.
STOPPED_S = 60.0
_CALENDAR_DAYS = 14
_MOST_ENTRIES = 20


def policy_if_any(settings: Settings) -> Policy | None:
    """The policy, or None: a lab need not have hosts."""
    return load_policy(settings) if settings.hosts.is_file() else None


def host_rows(settings: Settings, store: Store) -> list[Row]:
    """Every host of the policy."""
    policy, leases = load_policy(settings), Leases(store.database)
    return [host_row(settings, policy, name, leases.get(name)) for name in policy.hosts]


def host_row(settings: Settings, policy: Policy, name: str, lease: Row | None) -> Row:
    """One host: its lease, permitted uses, maintenance times and last known state."""
    host, now = policy.host(name), datetime.now(UTC)
    health = read_health(settings.home, name)
    leased = lease is not None and lease["holder"] is not None
    return {
        "host": name,
        "free": not leased and host.closed(now, now + timedelta(seconds=1)) is None,
        "holder": lease["holder"] if leased and lease else None,
        "about": lease["about"] if leased and lease else "",
        "until_s": lease["until_s"] if leased and lease else None,
        "rate_bps": host.rate_bps,
        "run_bytes": host.run_bytes,
        "day_bytes": host.day_bytes,
        "longest_s": host.longest_us / 1e6,
        "ports": list(host.ports),
        "peers": {peer: {"provisioned": provisioned} for peer, provisioned in policy.peers(name).items()},
        "closed": [[one.isoformat() for one in span] for span in _closed(host, now)],
        "health": None
        if health is None
        else {"at": health.at, "ok": health.ok, "kernel": health.kernel, "found": list(health.found)},
    }


def _closed(host: HostPolicy, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The coming times of maintenance."""
    end = now + timedelta(days=_CALENDAR_DAYS)
    at, count = now, 0
    while count < _MOST_ENTRIES and (span := host.closed(at, end)) is not None:
        yield span
        at, count = max(span[1], at + timedelta(seconds=1)), count + 1


def stop_in_record(store: Store, policy: Policy, who: str, names: Sequence[str] = ()) -> Row:
    """Cancel queued and running experiments on hosts, and seize the hosts' leases: their runs end within seconds."""
    chosen = [*names] or [*policy.hosts]
    for name in chosen:
        policy.host(name)
    experiments, leases = Experiments(store.database), Leases(store.database)
    cancelled = experiments.live_on("hosts")
    for key in cancelled:
        experiments.cancel(key)
    for name in chosen:
        leases.seize(name, f"{who}, stopping", STOPPED_S, "everything was stopped")
    return {"hosts": chosen, "cancelled": cancelled, "closed_s": STOPPED_S}


def stop_on_hosts(policy: Policy, names: Sequence[str]) -> list[Row]:
    """Stop all runs on each host directly, no matter which process started them; all hosts at the same time."""
    with ThreadPoolExecutor(max(1, len(names)), "stop") as threads:
        return list(threads.map(lambda name: _halt(policy, name), names))


def _halt(policy: Policy, name: str) -> Row:
    try:
        stopped = ask_program(ssh_command(policy, name, AGENT_ON_HOST, "halt"), f"stopping runs on {name} by")
        return {"host": name, "stopped": int(stopped.strip() or 0), "problem": ""}
    except (BackendError, PlanError, ValueError) as error:
        return {"host": name, "stopped": None, "problem": str(error)}
