"""A small experiment, and the results of its runs."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Run
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from longhaul.orchestrator.spec.load import Experiment, parse_experiment
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.folders import REPOSITORY
from tests.support.tested_kernels import TESTED_KERNELS


@dataclass(frozen=True)
class Finished:
    """A finished run with its files."""

    document: Any
    run: Run
    trace: Any
    facts: dict[str, Any]


Runner = Callable[..., Finished]

FLOW = {"name": "one", "cc": "cubic"}
# `longhaul recordings generate lte cellular.mahi --length 3s --seed 2`
_CELLULAR = REPOSITORY / "tests" / "data" / "recordings" / "cellular.mahi"
# Everything that draws random numbers, changes packets or holds them back.
VARIED: dict[str, dict[str, Any]] = {
    "cubic": {},
    "bbr": {"flows": [FLOW | {"cc": "bbr", "count": 2}]},
    "loss and jitter": {"path": {"loss": "0.5%", "jitter": "2 ms", "reorder": "0.1%", "duplicate": "0.1%"}},
    "corrupt packets": {"path": {"corrupt": "0.2%"}, "flows": [FLOW | {"cc": "htcp"}]},
    "codel with marks": {"path": {"queue": "codel", "ecn": "on"}, "flows": [FLOW | {"count": 3}]},
    "dctcp at a step": {
        "path": {"queue": "step", "ecn": "on", "mark_at": "20 packets"},
        "flows": [FLOW | {"cc": "dctcp"}],
    },
    "web and bursts of udp": {
        "flows": [
            FLOW,
            {"name": "web", "web": {"mean": "100 KB"}},
            {"name": "udp", "on_off": {"rate": "20 Mbit/s", "on": "100 ms", "off": "200 ms"}},
        ]
    },
    "trains of segments": {"path": {"offloads": "on"}},
    "a recorded link": {
        "path": {"bandwidth": None, "buffer": "100 packets", "recording": {"file": str(_CELLULAR), "offset": "drawn"}},
    },
    "several hops": {"topology": "parking_lot", "flows": [FLOW | {"count": 4}]},
    "netem and tbf": {"emulation": "chain", "flows": [FLOW | {"cc": "cdg"}]},
    "a path that changes": {"schedule": [{"at": "1 s", "path": {"bandwidth": "20 Mbit/s", "rtt": "80 ms"}}]},
    "iperf3": {"flows": [FLOW | {"tool": "iperf3", "cc": "apptcp"}]},
}


def experiment(**changes: Any) -> Experiment:
    """A one-flow dumbbell, changed at top-level keys; path is merged, or left out where it is None."""
    written: dict[str, Any] = {
        "experiment": "test",
        "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
        "start_jitter": "0 s",
    }
    if TESTED_KERNELS != ORDINARY_KERNELS:
        written["kernel"] = TESTED_KERNELS[0]
    changes = copy.deepcopy(changes)
    path = changes.pop("path", {})
    if path is None:
        del written["path"]
    else:
        written["path"] |= path
    return parse_experiment(written | changes, "test")


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """This machine's kernel cache, and a separate store for the session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGHAUL_HOME", str(tmp_path_factory.mktemp("home")))
        yield load_settings()


def guests(home: Path) -> list[int]:
    """Processes whose working directory lies in this home: kernels and their children."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd").startswith(str(home)):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def guards(home: Path) -> list[int]:
    """The guards of those kernels."""
    pids = (int(process.name) for process in Path("/proc").glob("[0-9]*"))
    return [pid for pid in pids if b"longhaul-agent\0guard" in command_of(pid) and os.fsencode(home) in command_of(pid)]


def kernels(home: Path) -> list[int]:
    """The kernels themselves: the processes of their programs have the same name."""
    # By the program: the guard's child has the guard's command line until it becomes the kernel.
    above = guards(home)
    linux = [pid for pid in guests(home) if command_of(pid).partition(b"\0")[0].endswith(b"/linux")]
    return [pid for pid in linux if _parent(pid) in above]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def command_of(pid: int) -> bytes:
    """The command line of a process, with a NUL after each word; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
