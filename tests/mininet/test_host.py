"""Mininet on this host's own kernel: a real run, and the cleanup after a killed one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.mininet import MininetBackend
from longhaul.orchestrator.backends.namespaces import NETS, owned
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.trace.records import read_trace
from tests.mininet.bare import bare_run, run_on_host
from tests.support.command import longhaul
from tests.support.guests import experiment
from tests.support.programs import run_program
from tests.support.waiting import wait_for

# They run on this machine's kernel, and the last of them clears its namespaces.
pytestmark = pytest.mark.real_time


def ip(*words: str) -> str:
    return run_program(["ip", *words], check=True).stdout


def namespaces() -> set[str]:
    folder = Path("/run/netns")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


@pytest.fixture(autouse=True)
def _only_as_root() -> None:
    if os.geteuid() != 0:
        pytest.fail("Mininet on this host needs root: run the tests as root")


@pytest.fixture
def foreign() -> Iterator[Callable[[], str]]:
    """A foreign namespace (with a name like ours), bridge, wire and queue; calling it returns their present state."""
    name, bridge, near, far = "lh-foreign", "lhtest-br", "lhtest-a", "lhtest-b"
    undo = ([("netns", "del", name)], [("link", "del", bridge)], [("link", "del", near)])
    try:
        ip("netns", "add", name)
        ip("link", "add", "name", bridge, "type", "bridge")
        ip("link", "add", "name", near, "type", "veth", "peer", "name", far)
        ip("link", "set", near, "master", bridge)
        subprocess.run(["tc", "qdisc", "add", "dev", far, "root", "handle", "7:", "pfifo", "limit", "77"], check=True)

        def look() -> str:
            links = "".join(ip("-o", "link", "show", "dev", dev) for dev in (bridge, near, far))
            queue = run_program(["tc", "qdisc", "show", "dev", far], check=True).stdout
            return links + queue + str(name in namespaces())

        yield look
    finally:
        for words in undo:
            subprocess.run(["ip", *words[0]], check=False, capture_output=True)


def test_a_run_on_this_kernel(tmp_path: Path) -> None:
    here, wide = namespaces(), Path("/proc/sys/net/ipv4/tcp_mem").read_text()
    directory = tmp_path / "run"
    run_on_host(bare_run("2 s"), directory)
    facts = json.loads((directory / "facts.json").read_text())
    trace = read_trace(directory / "trace.bin")
    (flow,) = facts["flows"]
    assert flow["error"] is None
    # Two seconds at 20 Mbit/s, less the headers, plus the content of the token bucket at the start.
    assert 4_000_000 < flow["bytes_received"] < 5_100_000
    assert len(trace.acks) > 100
    assert int(trace.flows["app_bytes"][-1]) == flow["bytes_received"]
    assert all(device["offloads_off"] for device in facts["devices"])
    assert facts["machine"]["timers"] > 0
    assert namespaces() == here
    assert not (NETS / "run").exists()
    assert Path("/proc/sys/net/ipv4/tcp_mem").read_text() == wide
    assert dict(facts["machine_sysctls"])["net/ipv4/tcp_mem"].split() == wide.split()


def test_the_next_start_removes_leftovers_of_a_killed_run(tmp_path: Path, foreign: Callable[[], str]) -> None:
    killed, later, alive = (f"{word}-{os.getpid()}" for word in ("killed", "later", "alive"))
    run = bare_run("1 s")
    before, link = foreign(), run.links[0]
    trace = tmp_path / killed / "trace.bin"
    with subprocess.Popen([sys.executable, "-m", "tests.mininet.bare", str(tmp_path / killed)]) as runner:
        wait_for(lambda: trace.exists() and trace.stat().st_size > 10_000)
        inside = _devices(f"lh-{killed}-{link.node}")
        runner.send_signal(signal.SIGKILL)
    assert inside[link.dev] == f"longhaul {killed}"
    assert {f"lh-{killed}-{node.name}" for node in run.nodes} <= namespaces()
    with owned(alive):
        ip("netns", "add", f"lh-{alive}-node")
        run_on_host(run, tmp_path / later)
        left = {name for name in namespaces() if name.startswith("lh-")}
        assert left == {f"lh-{alive}-node", "lh-foreign"}
        assert not (NETS / killed).exists()
    assert {name for name in namespaces() if name.startswith("lh-")} == {"lh-foreign"}
    assert foreign() == before
    assert not any(killed.encode() in _words(process) for process in Path("/proc").glob("[0-9]*"))


def _devices(namespace: str) -> dict[str, str]:
    """The wires' ends in a namespace, each with the alias that names its owner."""
    links = json.loads(ip("-n", namespace, "-j", "link"))
    return {link["ifname"]: link.get("ifalias", "") for link in links}


def _words(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_all_missing_features_of_a_host_are_reported_at_once(tmp_path: Path) -> None:
    """The check asks the kernel; pfifo and veth, which every kernel has, are never reported as missing."""
    run = compile_plan(experiment(), backend="mininet", where="host").runs[0]
    missing = dict(MininetBackend(load_settings()).check(run))
    done = longhaul("run", "quick", "--backend", "mininet", home=tmp_path)
    if not missing:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 3
    for piece, remedy in missing.items():
        if not piece.startswith("cc "):
            assert f"missing {piece}: {remedy}" in done.stderr
    assert not re.search(r"\b(pfifo|veth)\b", done.stderr)
