"""Growth of the cost with flows, kinds of link, bandwidth times time, traced ACKs, concurrent runs and workers of a cluster."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any

from longhaul.orchestrator.analysis.kept_series import kept_timeline
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.fields import CHAIN, SINGLE
from longhaul.orchestrator.system.settings import load_settings
from tests.bench.cases import SEGMENT_BYTES, Bench, Row
from tests.bench.longhaul_side import Measured, in_one_guest, one_flow, run_longhaul, run_process

_FLOWS = {1: None, 10: None, 100: None, 1000: 0.3}


def flows(bench: Bench) -> Iterator[Row]:
    """Different numbers of flows on one bottleneck, with the same total of packets."""
    duration_s = 2 if bench.quick else 10
    for count, at_least in _FLOWS.items():
        experiment = one_flow("1 Gbit/s", "40 ms", duration_s)
        experiment["flows"] = [{"name": "app", "cc": "htcp", "count": count}]
        measured = bench.measure(experiment)
        wall_s = median(float(one.run["wall_s"]) for one in measured)
        segment_us = median(_segment_us(one) for one in measured)
        memory_mb = measured[0].run["max_rss_kb"] / 1000
        yield Row(
            "flows",
            f"{count:,} on 1 Gbit/s × 40 ms",
            "virtual s / wall s",
            duration_s / wall_s,
            at_least=at_least,
            note=f"{segment_us:.2f} CPU us a segment; the guest {memory_mb:.0f} MB",
            details={"virtual_s": duration_s, "segment_cpu_us": segment_us, "max_rss_mb": memory_mb},
        )


# The most that a plain link as one qdisc may cost, against the kernel's chain.
_SINGLE_SHARE = 0.85


def links(bench: Bench) -> Iterator[Row]:
    """A guest's CPU time with plain links as one qdisc against the chain of netem, tbf and a fifo, measured alternately on one kernel."""
    experiment = in_one_guest(one_flow("1 Gbit/s", "40 ms", 3 if bench.quick else 10, buffer="3500 packets"))
    found: dict[str, list[float]] = {SINGLE: [], CHAIN: []}
    for _ in range(2 * bench.repeats + 1):
        for emulation, measured in found.items():
            measured.append(run_longhaul(experiment | {"emulation": emulation}, bench.home).guest_cpu_s)
    single, chain = median(found[SINGLE]), median(found[CHAIN])
    yield Row(
        "links",
        "1 Gbit/s × 40 ms, one qdisc",
        "of the chain's CPU time",
        single / chain,
        at_most=_SINGLE_SHARE,
        note=f"{single:.2f} s and {chain:.2f} s of the guest",
        details=dict(found),
    )


# The same gigabits three times, with less bandwidth for longer; then twice, four times and eight times as many.
_VOLUMES = (("10 Mbit/s", 200), ("100 Mbit/s", 20), ("1 Gbit/s", 2), ("1 Gbit/s", 4), ("1 Gbit/s", 8), ("1 Gbit/s", 16))


def growth(bench: Bench) -> Iterator[Row]:
    """A guest's CPU time per carried gigabyte, nearly constant if cost grows with bandwidth times time."""
    for bandwidth, duration_s in _VOLUMES[: 4 if bench.quick else None]:
        measured = bench.measure(in_one_guest(one_flow(bandwidth, "40 ms", duration_s)))
        cpu_s = median(one.guest_cpu_s for one in measured)
        carried_gb = float(measured[0].run["flows"][0]["bytes"]) / 1e9
        yield Row(
            "growth",
            f"{bandwidth} × {duration_s} s",
            "CPU s / GB",
            cpu_s / carried_gb,
            note=f"{cpu_s:.2f} s for {carried_gb:.2f} GB, {median(_segment_us(one) for one in measured):.2f} us a segment",
            details={"guest_cpu_s": cpu_s, "carried_gb": carried_gb},
        )


def trace(bench: Bench) -> Iterator[Row]:
    """The cost of recording an ACK, moving it out of the guest and keeping it: against a sample a second, alternately."""
    duration_s = 5 if bench.quick else 30
    every_ack = one_flow("100 Mbit/s", "40 ms", duration_s)
    pairs = [
        (run_longhaul(every_ack, bench.home), run_longhaul(every_ack | {"sample": "1 s"}, bench.home))
        for _ in range(2 * bench.repeats + 1)
    ]
    store = Store(replace(load_settings(), home=bench.home))
    acks = kept_timeline(store, str(pairs[0][0].run["run"]), "cwnd", flow="app").of_values
    in_all_us = median(every.cpu_s - seldom.cpu_s for every, seldom in pairs) * 1e6 / acks
    in_guest_us = median(every.guest_cpu_s - seldom.guest_cpu_s for every, seldom in pairs) * 1e6 / acks
    yield Row(
        "trace",
        f"{acks:,} ACKs of 100 Mbit/s × 40 ms",
        "CPU us / ACK",
        in_all_us,
        note=f"{in_guest_us:.2f} us of it in the guest",
        details={"acks": acks, "guest_cpu_us": in_guest_us},
    )


def scaling(bench: Bench) -> Iterator[Row]:
    """A sweep with more concurrent runs, and with more workers of a cluster, against one."""
    cores = len(os.sched_getaffinity(0))
    for jobs in sorted({min(2, cores), cores} - {1}):
        yield _jobs(bench, jobs)
    runs, rounds = (12, 1) if bench.quick else (100, 3)
    command = [sys.executable, "-m", "tests.bench.cluster", "--json", "--runs", str(runs), "--rounds", str(rounds)]
    # Exit code 1 is a ratio below the bar, which this row reports.
    found: dict[str, Any] = json.loads(run_process(command, ends=(0, 1)).output)
    yield Row(
        "scaling",
        "2 Dask workers against 1",
        "times faster",
        found["ratio"],
        at_least=found["bar"],
        note=f"{found['two_per_s']:.2f} runs a second, {found['overhead_s_per_run'] * 1e3:.0f} ms of dispatcher and scheduler a run",
        details=found,
    )
    yield Row(
        "scaling",
        "a Dask worker between short runs",
        "% of its time",
        found["idle_share"] * 100,
        at_most=found["idle_bar"] * 100,
        note="runs of 10 s at 10 Mbit/s",
    )


def _jobs(bench: Bench, jobs: int) -> Row:
    rtts = [f"{20 + point} ms" for point in range(8 if bench.quick else 40)]
    sweep = one_flow("100 Mbit/s", "40 ms", 10, sweep={"path.rtt": rtts})
    pairs = [
        (
            run_longhaul(sweep, bench.home, "--jobs", str(jobs)).wall_s,
            run_longhaul(sweep, bench.home, "--jobs", "1").wall_s,
        )
        for _ in range(bench.repeats)
    ]
    return Row(
        "scaling",
        f"{jobs} jobs against 1",
        "times faster",
        median(one / many for many, one in pairs),
        note=f"{len(rtts)} runs in {median(many for many, _ in pairs):.2f} s against {median(one for _, one in pairs):.2f} s",
        details={"walls_s": pairs},
    )


def _segment_us(one: Measured) -> float:
    segments = sum(float(flow["bytes"]) for flow in one.run["flows"]) / SEGMENT_BYTES
    return one.guest_cpu_s * 1e6 / segments
