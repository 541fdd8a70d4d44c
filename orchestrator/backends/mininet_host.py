"""Mininet on this machine's own kernel: its prerequisites, and one run of it.

    this process --pipe--> guard --PDEATHSIG--> python3 mininet_net.py -> agent attach

It leaves the machine as it was: everything lies in namespaces that are removed at the end, or by the next run
(namespaces.py); settings that a kernel has only once are left alone. It refuses to start if anything is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.guest_root import place
from longhaul.orchestrator.backends.guest_watch import check_status, follow, log_left, read_status
from longhaul.orchestrator.backends.namespaces import owned
from longhaul.orchestrator.kernels.prebuilt import provide_agent
from longhaul.orchestrator.plan.run import FlowChange, Progress, Run
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.guard import start_guard
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.process import run_in_terminal, run_script
from longhaul.orchestrator.system.settings import Settings, load_settings

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# The kind of a missing part, and the remedy.
_REMEDIES = {
    "qdisc": "run `modprobe sch_{name}`, or boot a kernel that has it (Debian: linux-image-amd64), or use --in guest",
    "link": "run `modprobe {name}`, or boot a kernel that has it, or use --in guest",
    "cc": "run `modprobe tcp_{name}`, or `make dkms-install` for the project's own, or use --in guest",
}


def missing_on_host(run: Run) -> list[tuple[str, str]]:
    """Every piece that this machine lacks for this run; the kernel is tried, not its lists."""
    missing = []
    if os.geteuid() != 0:
        missing.append(("root", "run it as root, or use --in guest"))
    provide_agent(load_settings())
    if not AGENT.is_file():
        missing.append(("the agent", "run `longhaul agent build`"))
        return missing
    try:
        unknown = run_script([str(AGENT), "able", *sorted(set(_needs(run)))], "asking this kernel").split()
    except BackendError:
        # A caller that may not make a namespace is not root, which is reported above.
        unknown = []
    for thing in unknown:
        kind, _, name = thing.partition(":")
        missing.append((f"{kind} {name} of kernel {os.uname().release}", _REMEDIES[kind].format(name=name)))
    return missing


def _needs(run: Run) -> Iterator[str]:
    yield from ("link:veth", "link:bridge")
    yield from (f"qdisc:{qdisc.kind}" for end in run.ends for qdisc in end.qdiscs)
    yield from (f"cc:{flow.cc}" for flow in run.flows if flow.cc is not None)
    yield from (f"cc:{change.cc}" for change in run.schedule if isinstance(change, FlowChange) and change.cc)


def furnish(directory: Path, net: Path) -> None:
    """Put the programs next to run.json."""
    place(AGENT, directory / "agent")
    place(net, directory / net.name)
    (directory / IPERF3).mkdir(exist_ok=True)


def open_prompt_on_host(run: Run, directory: Path, python: str, net: Path) -> int:
    """The mininet> prompt on this run's network; the exit code of Mininet."""
    (directory / "run.json").write_text(json.dumps(run.as_json()))
    furnish(directory, net)
    with owned(directory.name):
        command = [python, str(directory / net.name), "live", str(directory), directory.name]
        code = run_in_terminal(command, {"HOME": str(directory), "PATH": _PATH, "TERM": "xterm", "SHELL": "/bin/bash"})
    if (status := read_status(directory)) is not None:
        check_status(status)
    return code


def run_on_host(run: Run, directory: Path, program: list[str], settings: Settings, progress: Progress) -> Cost:
    """Run it with this program, which gets the run directory and the mark of its network as its last arguments."""
    mark = directory.name
    guard = ["guard", "--wall-s", str(settings.wall_limit_s), "--dir", str(directory), "--remove", "--"]
    command = [str(AGENT), *guard, *program, str(directory), mark]
    with owned(mark):
        process = start_guard(command, directory / "log.txt", {"HOME": str(directory), "PATH": _PATH})
        with log_left(process):
            report = follow(run, directory / "trace.bin", process, settings, progress)
    status = read_status(directory)
    if status is None:
        last = (directory / "log.txt").read_text(errors="replace").strip().splitlines()[-1:] or ["its log is empty"]
        how = f"signal {report.signal}" if report.signal is not None else f"code {report.exit_code}"
        raise BackendError(
            "running Mininet for", run.experiment, f"it ended with {how} and without a status: {last[0]}"
        )
    check_status(status)
    for name in ("agent", Path(program[1]).name):
        (directory / name).unlink(missing_ok=True)
    return Cost(report.wall_s, report.cpu_s, report.max_rss_kb)
