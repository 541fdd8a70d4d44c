"""The part of the benchmark about the guest's kernels: their build, the boot of a guest and its speed, for each release of Linux."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from longhaul.orchestrator.spec.kernel_versions import FURTHER_KERNELS, ORDINARY_KERNELS
from longhaul.orchestrator.system.settings import cache_folder
from tests.bench.cases import Bench, Row
from tests.bench.longhaul_side import LONGHAUL, one_flow, run_longhaul, run_process

_KERNELS = (*ORDINARY_KERNELS, *FURTHER_KERNELS)
_GIGABIT, _GIGABIT_QUICK = 10, 3


def kernels(bench: Bench) -> Iterator[Row]:
    """Build time in an empty cache, boot and speed of each kernel; each is also given in times of the default one."""
    if not bench.quick:
        yield from _rows("build", "wall s", {kernel: [_build_s(bench.folder, kernel)] for kernel in _KERNELS})
    yield from _rows("boot", "CPU ms", _in_turns(bench, 1, size="1 KB"))
    duration_s = _GIGABIT_QUICK if bench.quick else _GIGABIT
    gigabit = _in_turns(bench, duration_s, bandwidth="1 Gbit/s")
    speeds = {kernel: [duration_s * 1e3 / cpu_ms for cpu_ms in found] for kernel, found in gigabit.items()}
    yield from _rows("1 Gbit/s × 40 ms", "virtual s / CPU s", speeds)


def _rows(what: str, unit: str, found: dict[str, list[float]]) -> Iterator[Row]:
    values = {kernel: median(measured) for kernel, measured in found.items()}
    default = values[ORDINARY_KERNELS[0]]
    for kernel, value in values.items():
        note = f"{value / default:.2f} times {ORDINARY_KERNELS[0]}" if value != default else "the default"
        yield Row("kernels", f"{kernel}, {what}", unit, value, note=note, details={"measured": found[kernel]})


def _build_s(folder: Path, kernel: str) -> float:
    """The whole build of a kernel whose source is there already."""
    cache = folder / f"cache-{kernel}"
    cache.mkdir()
    os.symlink(cache_folder() / "sources", cache / "sources")
    environment = {"LONGHAUL_CACHE": str(cache), "LONGHAUL_PREBUILT": "off"}
    return run_process([str(LONGHAUL), "kernel", "build", kernel], environment).wall_s


def _in_turns(bench: Bench, duration_s: int, bandwidth: str = "1 Mbit/s", size: str = "") -> dict[str, list[float]]:
    """The guest's CPU time in ms, measured alternately."""
    experiment = one_flow(bandwidth, "40 ms", duration_s)
    if size:
        experiment |= {"flows": [{"name": "app", "cc": "htcp", "size": size}]}
    found: dict[str, list[float]] = {kernel: [] for kernel in _KERNELS}
    for _ in range(2 * bench.repeats + 1):
        for kernel in _KERNELS:
            found[kernel].append(1e3 * run_longhaul(experiment | {"kernel": kernel}, bench.home).guest_cpu_s)
    return found
