"""`make bench-live`: samples a second from a growing trace to a real Prometheus, and the processor time that they take.

    this process    writes a trace like a run with many flows, in real time: four ACKs of every flow in each 10 ms
    exporter        a separate process, with the stream, spool and sender of every run that is exported
    Prometheus      Debian's, with the project's configuration, in a temporary folder

At the end all samples in Prometheus are counted. Prints a table, with --json a document; processor time is that of the exporter
from before the first sample to after the last, without start-up.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longhaul.orchestrator.live.exporter import Exporter
from longhaul.orchestrator.live.metrics import RUN_METRICS
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.settings import Prometheus, load_settings
from longhaul.orchestrator.trace.records import KIND_NUMBERS, RECORD_BYTES, TRACE_KINDS, Records, trace_header
from tests.live.prometheus import PrometheusServer

RUN_ID = "bbbbbbbbbbbbbbbbbbbb"
# Two extremes of five states, a counter and two rates.
_SAMPLES_PER_CELL = 13
_CELL_S, _ACKS_PER_CELL = 0.01, 4
_WRITE_EVERY_S = 0.1


def run_of(flows: int, seconds: int) -> Run:
    """A run with so many flows."""
    written = {
        "experiment": "bench-live",
        "path": {"bandwidth": "622 Mbit/s", "rtt": "40 ms"},
        "flows": [{"name": "flow", "cc": "cubic", "count": flows}],
        "duration": f"{seconds} s",
        "start_jitter": "0 s",
    }
    return compile_plan(parse_experiment(written)).runs[0]


def records_between(run: Run, begin_cell: int, end_cell: int) -> bytes:
    """The records that the kernel would write in these cells: ACKs, and at each tick receivers and the queue."""
    flows = len(run.flows)
    parts = []
    for cell in range(begin_cell, end_cell):
        tick_ns = cell * 10_000_000
        acks = _empty("ack", flows * _ACKS_PER_CELL)
        order = np.arange(len(acks))
        acks["id"] = order % flows
        acks["t_ns"] = tick_ns + order * (10_000_000 // len(acks))
        # All values of a cell differ, or the cell would need only one sample.
        turn = (cell * _ACKS_PER_CELL + order // flows).astype(np.uint32)
        for name in ("cwnd", "ssthresh", "rtt_us", "inflight", "pacing_Bps"):
            acks[name] = 10 + turn % 1000
        acks["delivered"] = turn * 10
        acks["acked_bytes"] = turn.astype(np.uint64) * 14_480
        receivers = _empty("flow", flows)
        receivers["id"] = np.arange(flows)
        receivers["t_ns"] = tick_ns + 1
        receivers["app_bytes"] = cell * 57_920
        queue = _empty("link", 1)
        queue["t_ns"] = tick_ns + 1
        queue["queue_packets"], queue["tx_bytes"] = cell % 500, cell * 777_500
        parts += [receivers.tobytes(), queue.tobytes(), acks.tobytes()]
    return b"".join(parts)


def _empty(kind: str, count: int) -> Records:
    made = np.zeros(count * RECORD_BYTES, dtype=np.uint8).view(TRACE_KINDS[kind])
    made["kind"] = KIND_NUMBERS[kind]
    return made


def export(home: Path, url: str, flows: int, seconds: int) -> None:
    """The exporter's process: follow the trace until a line on stdin ends the run, and print the cost."""
    settings = replace(load_settings(), home=home, prometheus=Prometheus(url))
    run = run_of(flows, seconds)
    exporter = Exporter(settings)
    begin_ms = int(time.time() * 1000) - (seconds + 2) * 1000
    stream = exporter.stream(run, RUN_ID, [home / "trace.bin"], begin_ms)
    before, begun_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    print("ready", flush=True)
    sys.stdin.readline()
    written_s = time.monotonic()
    stream.end(whole=True)
    stream.wait()
    while stream.tally.waiting:
        time.sleep(0.01)
    after, done_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    exporter.close()
    took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cost = {
        "begin_ms": begin_ms,
        "samples": stream.tally.samples,
        "wall_s": done_s - begun_s,
        "behind_s": done_s - written_s,
        "cpu_s": took_s,
        "max_rss_mb": after.ru_maxrss / 1024,
    }
    print(json.dumps(cost))


def measure(folder: Path, samples_a_second: int, seconds: int) -> dict[str, Any]:
    """One measurement."""
    flows = -(-samples_a_second // round(_SAMPLES_PER_CELL / _CELL_S))
    run = run_of(flows, seconds)
    prometheus = PrometheusServer(folder)
    prometheus.start()
    home = folder / "home"
    home.mkdir()
    argv = [sys.executable, "-m", "tests.bench.live", "--export", str(home), prometheus.url, str(flows), str(seconds)]
    exporter = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert exporter.stdin is not None and exporter.stdout is not None
    try:
        assert exporter.stdout.readline() == "ready\n"
        _write(home / "trace.bin", run, seconds)
        cost: dict[str, Any] = json.loads(exporter.communicate("over\n")[0])
        end_s = cost["begin_ms"] / 1000 + seconds + 1
        stored = [
            prometheus.query(f'sum(count_over_time({metric.name}{{run="{RUN_ID}"}}[{seconds + 2}s]))', at_s=end_s)
            for metric in RUN_METRICS
        ]
        rate = cost["samples"] / seconds
        return cost | {
            "flows": flows,
            "seconds": seconds,
            "samples_a_second": rate,
            "cores": cost["cpu_s"] / cost["wall_s"],
            "stored": sum(int(found[0]["value"][1]) for found in stored if found),
            "prometheus_cores": _cpu_s(prometheus.pid) / cost["wall_s"],
        }
    finally:
        exporter.kill()
        exporter.wait()
        prometheus.stop()


def _write(file: Path, run: Run, seconds: int) -> None:
    cells = round(seconds / _CELL_S)
    with file.open("wb", buffering=0) as trace:
        trace.write(trace_header())
        begun_s, done = time.monotonic(), 0
        while done < cells:
            until = min(cells, int((time.monotonic() - begun_s) / _CELL_S))
            trace.write(records_between(run, done, until))
            done = until
            time.sleep(_WRITE_EVERY_S)


def _cpu_s(pid: int) -> float:
    found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(prog="make bench-live")
    parser.add_argument("--samples", type=int, default=100_000, help="samples a second (100000)")
    parser.add_argument("--seconds", type=int, default=30, help="duration of the trace in seconds (30)")
    parser.add_argument("--json", action="store_true", help="print a document")
    parser.add_argument("--export", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export:
        home, url, flows, seconds = options.export
        export(Path(home), url, int(flows), int(seconds))
        return
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder:
        found = measure(Path(folder), options.samples, options.seconds)
    if options.json:
        print(json.dumps(found))
        return
    marks = found["samples"] - found["stored"]
    print(
        f"{found['flows']} flows for {found['seconds']} s: {found['samples']} samples, {found['samples_a_second']:.0f} a second"
    )
    print(
        f"exporter    {found['cores']:.2f} of a core ({found['cpu_s']:.1f} s in {found['wall_s']:.1f} s), {found['max_rss_mb']:.0f} MB"
    )
    print(f"prometheus  {found['prometheus_cores']:.2f} of a core")
    print(
        f"all sent {found['behind_s']:.2f} s after the last was written; {found['stored']} stored and {marks} marks of ends"
    )


if __name__ == "__main__":
    main()
