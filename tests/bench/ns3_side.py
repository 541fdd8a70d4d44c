"""The other side of the comparison: installs ns-3 if it is missing, builds ns3_dumbbell.cc against it and runs it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.longhaul_side import BenchError, run_process
from tests.support.programs import run_program

_SOURCE = Path(__file__).with_name("ns3_dumbbell.cc")
_SETUP = Path(__file__).resolve().parents[2] / "setup.sh"
# The libraries by name: pkg-config would also ask for development packages that ns-3's own modules do not need.
_LIBRARIES = ["applications", "internet", "point-to-point", "traffic-control", "network", "core"]


@dataclass(frozen=True, slots=True)
class Ns3Run:
    """The JSON result of ns-3, and the wall time of its process."""

    result: dict[str, Any]
    wall_s: float


def ns3_version() -> str:
    """The installed version, after installing it if it is missing; BenchError with the install command where that is not possible."""
    done = subprocess.run(
        [_SETUP, "ns3"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        *_, remedy = done.stderr.split("\n")[:-1] or [f"exit code {done.returncode}"]
        raise BenchError(f"ns-3 is not installed, and setup.sh ns3 could not install it: {remedy.strip()}")
    done = run_program(["dpkg-query", "-W", "-f", "${Version}", "libns3-dev"])
    return done.stdout.strip() or "of unknown version"


def build_ns3(folder: Path) -> Path:
    """The compiled dumbbell; the compiler is not part of what is measured."""
    program = folder / "ns3_dumbbell"
    libraries = [f"-lns3-{name}" for name in _LIBRARIES]
    run_process(["g++", "-std=c++17", "-O2", "-o", str(program), str(_SOURCE), *libraries])
    return program


def run_ns3(
    program: Path, rate_mbps: int, rtt_ms: int, buffer_packets: int, duration_s: int, segments_per_ack: int
) -> Ns3Run:
    """One run of the dumbbell."""
    cost = run_process(
        [
            str(program),
            f"--rate_mbps={rate_mbps}",
            f"--rtt_ms={rtt_ms}",
            f"--buffer_packets={buffer_packets}",
            f"--duration_s={duration_s}",
            f"--segments_per_ack={segments_per_ack}",
            f"--trace={program.with_suffix('.trace')}",
        ]
    )
    return Ns3Run(json.loads(cost.output), cost.wall_s)
