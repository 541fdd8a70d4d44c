"""Runs `longhaul run` as a user would, in a separate process, and measures the cost of the whole process.

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

# Removed from the environment of the measured program: it would make every start compile the modules again.
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


class BenchError(Exception):
    """The reason why a part of the benchmark could not be measured."""


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """The cost of a finished process, and its standard output."""

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
        """The CPU time of the guests."""
        return sum(float(run["cpu_s"]) for run in self.runs)


def one_flow(
    bandwidth: str, rtt: str, duration_s: int, buffer: str = "1 BDP", sweep: Mapping[str, list[str]] | None = None
) -> dict[str, Any]:
    """The experiment of every part: one H-TCP flow, every ACK traced, no warmup."""
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


def in_one_guest(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment for a comparison of guests' CPU time: two guests, which `auto` may choose, take more of it than one."""
    return {**experiment, "parts": 1}


def run_longhaul(experiment: Mapping[str, Any], home: Path, *options: str) -> Measured:
    """Run the experiment from a file, with these options, without using kept runs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        file.write_text(json.dumps(experiment))
        command = [str(LONGHAUL), "run", str(file), "--json", "--no-cache", *options]
        # 4: a run failed, and its document has the reason.
        cost = run_process(command, {"LONGHAUL_HOME": str(home)}, ends=(0, 4))
    runs: list[dict[str, Any]] = json.loads(cost.output)["runs"]
    if failed := [run["error"] for run in runs if run["status"] == "failed"]:
        raise BenchError(f"{failed[0]['attempting']} {failed[0]['subject']}: {failed[0]['what']}")
    return Measured(runs, cost.wall_s, cost.cpu_s)


def run_process(
    argv: Sequence[str], environment: Mapping[str, str] | None = None, ends: Sequence[int] = (0,)
) -> ProcessCost:
    """Run a program to its end; BenchError with its last line of errors on another exit code."""
    inherited = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun_s = time.monotonic()
        child = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=inherited | dict(environment or {})
        )
        # wait4 instead of Popen.wait: it separates the CPU time of this child from that of earlier ones.
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - begun_s
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode not in ends:
            lines = errors.read().strip().splitlines() or [f"exit code {child.returncode}"]
            program = Path(argv[0]).name
            raise BenchError(f"{program}: {lines[-1].removeprefix(f'{program}: ')}")
        return ProcessCost(output.read(), wall_s, usage.ru_utime + usage.ru_stime)
