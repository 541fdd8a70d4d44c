"""Runs `longhaul run` as a user would, in a process of its own, and says what the whole process took.

CPU time is that of the process and of everything below it, guests included: each child has waited for its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGHAUL = Path(sys.executable).with_name("longhaul")

# Left out of the environment of what is measured: this switch would make every start compile the program's modules anew.
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


class BenchError(Exception):
    """A part of the benchmark could not be measured, and why."""


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """What a finished process took, with its standard output."""

    output: str
    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One `longhaul run`: the documents of its runs, and the cost of the process around them."""

    runs: list[dict[str, Any]]
    wall_s: float
    cpu_s: float

    @property
    def run(self) -> dict[str, Any]:
        """The document of the only run."""
        return self.runs[0]

    @property
    def guest_cpu_s(self) -> float:
        """What the guests took of the CPU time."""
        return sum(float(run["cpu_s"]) for run in self.runs)


def one_flow(
    bandwidth: str, rtt: str, duration_s: int, buffer: str = "1 BDP", sweep: Mapping[str, list[str]] | None = None
) -> dict[str, Any]:
    """The experiment of every part: one H-TCP flow, every ACK traced, nothing left out at the beginning."""
    experiment = {
        "experiment": "bench",
        "path": {"bandwidth": bandwidth, "rtt": rtt, "buffer": buffer},
        "flows": [{"name": "app", "cc": "htcp"}],
        "sample": "every-ack",
        "duration": f"{duration_s} s",
        "warmup": "0 s",
        "start_jitter": "0 s",
    }
    return experiment | ({"sweep": dict(sweep)} if sweep else {})


def run_longhaul(experiment: Mapping[str, Any], home: Path, *words: str) -> Measured:
    """Carry the experiment out from its file, with more words if any, without answers from the store."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        file.write_text(json.dumps(experiment))
        command = [str(LONGHAUL), "run", str(file), "--json", "--no-cache", *words]
        # 4: a run failed, and its document says why.
        cost = run_process(command, {"LONGHAUL_HOME": str(home)}, ends=(0, 4))
    runs: list[dict[str, Any]] = json.loads(cost.output)["runs"]
    if failed := [run["error"] for run in runs if run["status"] == "failed"]:
        raise BenchError(f"{failed[0]['attempting']} {failed[0]['subject']}: {failed[0]['what']}")
    return Measured(runs, cost.wall_s, cost.cpu_s)


def run_process(
    argv: Sequence[str], environment: Mapping[str, str] | None = None, ends: Sequence[int] = (0,)
) -> ProcessCost:
    """Run a program to its end; BenchError with its last words when it ends otherwise than it may."""
    inherited = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun_s = time.monotonic()
        child = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=inherited | dict(environment or {})
        )
        # wait4 instead of Popen.wait: it alone tells this child's CPU time apart from that of earlier ones.
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - begun_s
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode not in ends:
            words = errors.read().strip().splitlines() or [f"exit code {child.returncode}"]
            program = Path(argv[0]).name
            raise BenchError(f"{program}: {words[-1].removeprefix(f'{program}: ')}")
        return ProcessCost(output.read(), wall_s, usage.ru_utime + usage.ru_stime)
