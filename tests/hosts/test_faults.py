"""Hosts on which a deployment fails: each gets one sentence that states what to do, the others continue, nothing is left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.bench import Bench, Outcome

pytestmark = pytest.mark.usefixtures("as_found")

_UNUSED_ADDRESS = "10.77.0.99"


@pytest.fixture
def put_back(bench: Bench) -> Iterator[None]:
    """After any fault, a restoration leaves the hosts as they were found."""
    yield
    bench.restored()


@pytest.mark.usefixtures("put_back")
def test_headers_of_another_kernel_a_module_that_is_refused_and_a_host_that_is_not_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """alpha's kernel loads no more modules, as in a lock-down; beta has headers of another kernel; no host has ghost's address."""
    release = bench.lab.release
    other = "/usr/src/linux-headers-6.1.0-other"
    bench.lab.run("alpha", "echo 1 >/proc/sys/kernel/modules_disabled")
    bench.lab.run(
        "beta",
        f"mkdir -p {other}/include/generated && ln -sfn {other} /lib/modules/{release}/build && "
        f"""echo '#define UTS_RELEASE "6.1.0-other"' >{other}/include/generated/utsrelease.h""",
    )
    policy = json.loads(bench.lab.policy.read_text())
    ghost = {"address": "10.9.0.2", "device": "vec1"}
    policy["hosts"]["ghost"] = {**policy["hosts"]["alpha"], "ssh": {"address": _UNUSED_ADDRESS}, "traffic": ghost}
    (tmp_path / "hosts.yml").write_text(json.dumps(policy))
    monkeypatch.setattr(bench.lab, "policy", tmp_path / "hosts.yml")
    unreachable = {"ansible_host": _UNUSED_ADDRESS, "ansible_ssh_timeout": "3"}
    inventory = bench.inventory(tmp_path, beta={"kmod_method": "dkms"}, ghost=unreachable)
    outcome = bench.hosts("deploy", inventory=inventory)
    bench.lab.run("beta", f"ln -sfn /usr/src/linux-headers-{release} /lib/modules/{release}/build && rm -r {other}")
    bench.lab.power_off("alpha")
    bench.lab.power_on("alpha")
    bench.lab.wait("alpha")
    assert outcome.code == 3
    assert {name: one["status"] for name, one in outcome.hosts.items()} == {
        "alpha": "failed",
        "beta": "failed",
        "ghost": "unreachable",
    }
    _check(outcome, "alpha", "deploying to alpha: ", "loading module tcp_agilesd", "Operation not permitted", "locked")
    _check(
        outcome,
        "beta",
        f"it runs kernel {release}, and the headers in",
        "of 6.1.0-other",
        f"install the headers of {release}",
    )
    _check(outcome, "ghost", "deploying to ghost: it cannot be reached: ", "check its address, its sshd and your key")


@pytest.mark.usefixtures("put_back")
def test_files_and_queues_of_other_users_stay(bench: Bench) -> None:
    bench.lab.run("alpha", "mkdir -p /etc/longhaul && echo mine >/etc/longhaul/limits.json")
    bench.lab.run("beta", "tc qdisc replace dev vec1 root handle 77: pfifo limit 50")
    try:
        outcome = bench.hosts("deploy")
        assert bench.lab.run("alpha", "cat /etc/longhaul/limits.json") == "mine\n"
        assert "pfifo" in bench.lab.run("beta", "tc qdisc show dev vec1")
    finally:
        bench.lab.run("alpha", "rm -r /etc/longhaul")
        bench.lab.run("beta", "tc qdisc delete dev vec1 root")
    assert outcome.code == 4
    _check(outcome, "alpha", "/etc/longhaul/limits.json already exists and is not from a deployment; move it away")
    _check(outcome, "beta", "setting the queue of vec1 to fq: pfifo is configured there and stays")


def test_a_host_that_the_policy_does_not_name_is_not_touched(bench: Bench, tmp_path: Path) -> None:
    outcome = bench.hosts("deploy", inventory=bench.inventory(tmp_path, stranger={"ansible_host": _UNUSED_ADDRESS}))
    assert outcome.code == 2
    assert "choosing the host stranger: the operator's host policy has no host of that name" in outcome.messages
    bench.assert_as_found("alpha", "beta")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("endpoints: {hosts: {alpha: {", "reading inventory"),
        ("others: {hosts: {alpha: {}}}", "it has no hosts in a group endpoints"),
    ],
)
def test_an_invalid_inventory_is_refused(bench: Bench, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "inventory.yml").write_text(text)
    outcome = bench.hosts("deploy", inventory=tmp_path / "inventory.yml")
    assert outcome.code == 2
    assert message in outcome.messages


def _check(outcome: Outcome, host: str, *parts: str) -> None:
    """The problem of a host is one sentence, in its document and among the messages."""
    problem = outcome.hosts[host]["problem"]
    assert outcome.messages.splitlines().count(problem) == 1
    for part in parts:
        assert part in problem
