"""Hosts as users see them, and the stop of all runs on them, as far as the database is concerned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.hosts.health import note_health, read_health
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.execution.hosts import host_rows, policy_if_any, stop_in_record
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.host_policy import read_policy
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.host_policy import POLICY, SPEC, lab

__all__ = ["lab"]


@pytest.fixture
def settings(lab: Path, tmp_path: Path) -> Settings:
    agent = tmp_path / "agent"
    agent.write_bytes(b"an agent")
    return replace(load_settings(), home=tmp_path / "home", agent=agent)


def test_a_list_of_hosts_has_lease_holders_and_maintenance_times(settings: Settings, lab: Path) -> None:
    closed = {**POLICY["hosts"]["hk"], "maintenance": [{"weekly": "Sun 02:00-04:00"}]}
    lab.write_text(json.dumps({**POLICY, "hosts": {**POLICY["hosts"], "hk": closed}}))
    store = Store(settings)
    Leases(store.database).take("chicago", "a person", 60, "cabling")
    note_health(settings.home, "hk", ok=False, kernel=None, found=["it cannot be reached"])
    rows = {row["host"]: row for row in host_rows(settings, store)}
    assert (rows["chicago"]["free"], rows["chicago"]["holder"], rows["chicago"]["about"]) == (
        False,
        "a person",
        "cabling",
    )
    assert len(rows["hk"]["closed"]) in (2, 3)
    assert rows["hk"]["peers"] == {"chicago": {"provisioned": True}, "london": {"provisioned": False}}
    assert rows["hk"]["health"]["found"] == ["it cannot be reached"]
    assert rows["london"]["health"] is None


def test_an_unreadable_health_file_is_ignored(tmp_path: Path) -> None:
    note_health(tmp_path, "hk", ok=True, kernel="6.1.0", found=[])
    found = read_health(tmp_path, "hk")
    assert found is not None
    assert (found.ok, found.kernel, found.found) == (True, "6.1.0", ())
    (tmp_path / "hosts" / "hk.json").write_text("nonsense")
    assert read_health(tmp_path, "hk") is None


def test_a_stop_cancels_waiting_runs_and_takes_the_hosts(settings: Settings, lab: Path) -> None:
    store = Store(settings)
    desk, experiments, leases = Desk(settings, store), Experiments(store.database), Leases(store.database)
    waiting = desk.submit(Request(spec=SPEC, backend="hosts", hosts=("hk", "chicago")), "ci")
    fence = leases.take("hk", "another run", 60)
    assert fence is not None
    stopped = stop_in_record(store, read_policy(lab), "an operator")
    assert stopped["cancelled"] == [waiting]
    assert experiments.get(waiting)["status"] == "cancelled"
    assert not leases.renew("hk", "another run", fence, 60)
    assert leases.take("chicago", "the next run", 60) is None
    with pytest.raises(PlanError, match="has no host of that name"):
        stop_in_record(store, read_policy(lab), "an operator", ["paris"])


def test_a_lab_need_not_have_hosts(settings: Settings) -> None:
    assert policy_if_any(settings) is not None
    assert policy_if_any(replace(settings, hosts_file=None)) is None
