"""A deployment from the first check to the restoration: it does what it promises, a second one changes nothing, and nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longhaul.orchestrator.spec.host_policy import limits_of, read_policy
from tests.hosts.bench import Bench

pytestmark = pytest.mark.usefixtures("as_found")

CONTROLS = {"agilesd", "apptcp", "ccp", "ccpd", "compound", "htcp_be", "lhfixed"}
# The state that a boot resets, unlike the files on the disk.
OF_A_BOOT = ("sysctls", "qdiscs", "offloads", "modules", "listening", "programs", "units")


@pytest.fixture(scope="module")
def inventory(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """alpha gets modules that were built elsewhere; beta builds them."""
    return bench.inventory(tmp_path_factory.mktemp("inventory"), beta={"kmod_method": "dkms"})


def test_a_check_changes_nothing_and_reports_pending_changes(bench: Bench, inventory: Path) -> None:
    outcome = bench.hosts("check", inventory=inventory)
    assert outcome.code == 1, outcome.messages
    assert {one["status"] for one in outcome.hosts.values()} == {"changed"}
    bench.assert_as_found("alpha", "beta")


def test_a_deployment_sets_up_what_it_promises(bench: Bench, inventory: Path) -> None:
    outcome = bench.deployed(inventory=inventory)
    assert {one["status"] for one in outcome.hosts.values()} == {"changed"}
    policy = read_policy(bench.lab.policy)
    for name in bench.lab.hosts:
        now = bench.snapshot(name)
        assert set(now["sysctls"]["net.ipv4.tcp_available_congestion_control"].split()) >= CONTROLS
        assert now["sysctls"]["net.core.rmem_max"] == "536870912"
        assert [one["kind"] for one in now["qdiscs"] if one["dev"] == "vec1"] == ["fq"]
        assert json.loads(bench.lab.run(name, "cat /etc/longhaul/limits.json")) == limits_of(policy, name)
        assert bench.lab.run(name, "/usr/local/libexec/longhaul/agent version").startswith("longhaul-agent ")
    assert "installed" in bench.lab.run("beta", "dkms status longhaul")


def test_a_second_one_changes_nothing_and_an_inventory_cannot_widen_the_policy(
    bench: Bench, inventory: Path, tmp_path: Path
) -> None:
    wide = {"format": 1, "rate_bps": 10**12, "device": "vec0"}
    hostile = json.loads(inventory.read_text())
    hostile["endpoints"]["vars"] |= {
        "agent_limits": wide,
        "longhaul_limits": {"alpha": wide, "beta": wide},
        "tuning_interface": "vec0",
        "agent_binary": "/bin/true",
    }
    (tmp_path / "inventory.yml").write_text(json.dumps(hostile))
    outcome = bench.hosts("deploy", inventory=tmp_path / "inventory.yml")
    assert outcome.code == 0, outcome.messages
    assert {name: one["changed"] for name, one in outcome.hosts.items()} == {"alpha": [], "beta": []}


def test_after_a_power_cut_settings_are_as_found_and_files_stay(bench: Bench, inventory: Path) -> None:
    bench.lab.power_off("alpha")
    bench.lab.power_on("alpha")
    bench.lab.wait("alpha")
    after = bench.snapshot("alpha")
    assert {part: after[part] for part in OF_A_BOOT} == {part: bench.before["alpha"][part] for part in OF_A_BOOT}
    outcome = bench.hosts("check", inventory=inventory)
    assert outcome.code == 1, outcome.messages
    assert outcome.hosts["alpha"]["changed"] == [
        "Set buffers, queue and offloads, and check them",
        "Load the modules and check them",
    ]
    assert outcome.hosts["beta"]["changed"] == []


def test_a_restoration_keeps_only_later_changes_by_users(bench: Bench, inventory: Path) -> None:
    bench.lab.run("beta", "sysctl -q -w net.core.rmem_max=1000000")
    outcome = bench.hosts("restore", inventory=inventory)
    assert outcome.code == 0, outcome.messages
    assert bench.lab.run("beta", "sysctl -n net.core.rmem_max").strip() == "1000000"
    bench.lab.run("beta", f"sysctl -q -w net.core.rmem_max={bench.before['beta']['sysctls']['net.core.rmem_max']}")
    bench.assert_as_found("alpha", "beta")
