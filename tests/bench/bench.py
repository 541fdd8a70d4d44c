"""`make bench`: measures speed, overhead and memory, and the same dumbbell in ns-3, all in one run of this program.

It prints a table with the machine and both kernels, writes build/bench.json, and exits with 1 when a number misses its bar.
Absolute times depend on the machine; only ratios can be compared between machines.

    bench.py --- cases.py, *_cases.py: measurements and bars ----|- longhaul_side.py: `longhaul run` as a process
       `--- build/bench.json ---> page.py                        `- ns3_side.py, ns3_dumbbell.cc: the same in ns-3
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.cases import Bench, Row, memory, modules, ns3, overhead, speed, topologies
from tests.bench.estimate_cases import estimates
from tests.bench.growth_cases import flows, growth, links, scaling, trace
from tests.bench.guest_cases import captures, guests
from tests.bench.kernel_cases import kernels
from tests.bench.longhaul_side import BenchError, one_flow, run_longhaul
from tests.bench.page import RESULT
from tests.bench.real_time_cases import iperf3, real_time
from tests.bench.rows import bar, number
from tests.bench.series_cases import series
from tests.bench.simbricks_cases import simbricks

PARTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "speed": speed,
    "overhead": overhead,
    "memory": memory,
    "flows": flows,
    "links": links,
    "guests": guests,
    "captures": captures,
    "growth": growth,
    "trace": trace,
    "scaling": scaling,
    "kernels": kernels,
    "modules": modules,
    "topologies": topologies,
    "series": series,
    "estimates": estimates,
    "ns-3": ns3,
    "simbricks": simbricks,
    "real time": real_time,
    "iperf3": iperf3,
}


def main() -> int:
    """Measure the selected parts; 1 when a bar is missed, 4 when a part failed."""
    args = _arguments()
    progress = Console(stderr=True)
    rows: list[Row] = []
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder:
        bench = Bench(Path(folder), 1 if args.quick else 3, args.quick)
        machine = _machine(bench)
        for part in args.only or [name for name in PARTS if not (args.skip_ns3 and name == "ns-3")]:
            try:
                for row in PARTS[part](bench):
                    progress.print(f"{row.part}: {row.case}: {number(row.value)} {row.unit}", highlight=False)
                    rows.append(row)
            except BenchError as error:
                broken.append(f"{part}: {error}")
    _print(rows, machine)
    for line in broken:
        progress.print(f"not measured: {line}", style="red", highlight=False)
    _write(rows, machine, _how(whole=not (args.quick or args.only or args.skip_ns3)), broken)
    return 4 if broken else int(any(row.holds is False for row in rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure speed, as ratios within one run.")
    parser.add_argument("--quick", action="store_true", help="each case once and shorter, ns-3 at 100 Mbit/s only")
    parser.add_argument("--skip-ns3", action="store_true", help="leave the comparison with ns-3 out (it takes minutes)")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part; may be given again")
    return parser.parse_args()


def _machine(bench: Bench) -> dict[str, str | int]:
    """The machine and its kernels. The probe also leaves a catalogue and compiled modules behind, so the first case starts warm."""
    probe = run_longhaul(one_flow("1 Mbit/s", "40 ms", 1), bench.home)
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "host_kernel": platform.release(),
        # Kernels of one release may be compiled differently; the identity of a run has the hash of the kernel's inputs.
        "guest_kernel": f"{probe.run['kernel']} ({probe.run['identity']['kernel'][:8]})",
        "load": f"{os.getloadavg()[0]:.2f}",
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _print(rows: list[Row], machine: dict[str, str | int]) -> None:
    table = Table(title="Longhaul benchmark", title_justify="left")
    for name in ("part", "case"):
        table.add_column(name, no_wrap=True)
    for name in ("measured", "bar"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    table.add_column("details")
    last = ""
    for row in rows:
        if last and row.part != last:
            table.add_section()
        holds = {True: "[green]yes[/]", False: "[red]no[/]", None: "-"}[row.holds]
        part = row.part if row.part != last else ""
        table.add_row(part, row.case, number(row.value), bar(row.at_least, row.at_most), row.unit, holds, row.note)
        last = row.part
    # A pipe has no width, so the table is as wide as its notes need.
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(table)
    console.print(
        f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']} at the start; "
        f"host {machine['host_kernel']}, guest {machine['guest_kernel']}",
        highlight=False,
    )


def _how(*, whole: bool) -> dict[str, str | bool]:
    """The command, the day, and whether it measured all parts in full."""
    args = f' BENCH="{shlex.join(sys.argv[1:])}"' if sys.argv[1:] else ""
    return {"command": f"make bench{args}", "day": str(datetime.datetime.now(tz=datetime.UTC).date()), "whole": whole}


def _write(rows: list[Row], machine: dict[str, str | int], how: dict[str, str | bool], broken: list[str]) -> None:
    RESULT.parent.mkdir(exist_ok=True)
    measured = [asdict(row) | {"holds": row.holds} for row in rows]
    RESULT.write_text(
        json.dumps({"machine": machine, "measured": how, "rows": measured, "not_measured": broken}, indent=1) + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
