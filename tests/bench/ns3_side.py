"""The other side of the comparison: builds ns3_dumbbell.cc against the installed ns-3 and runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.longhaul_side import BenchError, run_process

INSTALL = "apt-get install -y --no-install-recommends libns3-dev g++"

_SOURCE = Path(__file__).with_name("ns3_dumbbell.cc")
_HEADERS = Path("/usr/include/ns3")
# The libraries by name: pkg-config would also ask for development packages that ns-3's own modules do not need.
_LIBRARIES = ["applications", "internet", "point-to-point", "traffic-control", "network", "core"]


@dataclass(frozen=True, slots=True)
class Ns3Run:
    """The JSON result of ns-3, and the wall time of its process."""

    result: dict[str, Any]
    wall_s: float


def ns3_version() -> str:
    """The installed version; BenchError with the install command when there is none."""
    if shutil.which("g++") is None or not (_HEADERS / "internet-module.h").is_file():
        raise BenchError(f"ns-3 is not installed; run: {INSTALL}")
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libns3-dev"], capture_output=True, text=True)
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
