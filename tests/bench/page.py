"""`make bench-page`: docs/benchmarks.md from build/bench.json, which `make bench` wrote. Only for a full measurement.

bench.json: machine, command, rows ---> a table for each part, in the order of bench.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.bench.rows import bar, number

RESULT = Path(__file__).resolve().parents[2] / "build" / "bench.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"

# Part -> title, and description of the measurement.
PARTS = {
    "speed": (
        "One flow",
        "One H-TCP flow with a buffer of 1 BDP, every ACK traced: virtual seconds of the guest per second of real time.",
    ),
    "overhead": (
        "Fixed cost of a run",
        "The cost of a run with hardly any packets: the whole command, and one more run in a sweep.",
    ),
    "memory": ("Memory", "The peak memory of a guest's process."),
    "flows": (
        "Many flows",
        "H-TCP flows at once on one bottleneck, every ACK traced; the cost of a segment is the guest's CPU time divided by the segments that arrived.",
    ),
    "links": (
        "A link as one qdisc",
        "The guest's CPU time with `emulation: single` against `chain`, measured alternately on the same kernel.",
    ),
    "guests": (
        "One run in two guests",
        "The wall time of the guests of a run with `parts: 1` against `parts: 2`, boot included, measured alternately ([parts](parts.md)).",
    ),
    "captures": (
        "Packets",
        "The wall time of the whole command with packets captured at the bottleneck against that without, measured alternately ([packets](packets.md)).",
    ),
    "growth": (
        "Bandwidth times time",
        "The guest's CPU time by the carried data: the first three carry the same, the others two, four and eight times as much.",
    ),
    "trace": (
        "Tracing an ACK",
        "CPU time of the whole process with every ACK traced less that with a sample a second, measured alternately, divided by the ACKs.",
    ),
    "scaling": (
        "Concurrent runs",
        "The same sweep with more jobs on this machine, and with two Dask workers on loopback, against one.",
    ),
    "kernels": (
        "The guest's kernels",
        "Each release of Linux: its whole build with its source at hand, a guest without packets from boot to end, and one H-TCP flow; guests measured alternately.",
    ),
    "modules": (
        "The project's congestion controls",
        "CPU time of a segment against that with CUBIC on the same path, measured alternately.",
    ),
    "topologies": ("Large topologies", "From the start of a guest to the first packet."),
    "series": ("Charts of kept runs", "Series over time from the store, thinned to the points of a chart."),
    "estimates": (
        "Estimates",
        "Drawn experiments, planned and then run: the share whose time and memory were estimated within 30 %.",
    ),
    "ns-3": (
        "Against ns-3",
        "The same dumbbell in ns-3 as Debian builds it, with a record of equal length at every ACK; whole processes, measured alternately. Slow start of ns-3 grows by a segment an ACK: with an ACK for each segment it loses as Linux does, with one for two it handles as many ACKs. It has one thread: neither Debian's ns-3 3.37 nor the package ns3 3.44 of PyPI contains the multithreaded simulator (`mtp`) or the distributed one (`mpi`).",
    ),
    "simbricks": (
        "Against SimBricks, as published",
        'One point of [SimBricks\' figure 1](reproductions/simbricks-dctcp.md), a whole process, against the time that its authors state for theirs, "around 240 mins". That time is of their machine, two 22-core Xeon Gold 6152, and of a simulation whose hosts and network cards cost time; those of a guest do not.',
    ),
    "real time": (
        "Against Mininet in real time",
        "The same experiment in real Mininet: whole processes, set-up included, measured alternately.",
    ),
    "iperf3": (
        "Against iperf3 in Mininet",
        "CPU time of the same goodput with iperf3 over Mininet in real time, both sides as a whole, measured alternately.",
    ),
}


def main() -> int:
    """Write the page; 2 without a full result."""
    if not RESULT.is_file():
        print("bench-page: there is no build/bench.json: run `make bench`", file=sys.stderr)
        return 2
    result: dict[str, Any] = json.loads(RESULT.read_text())
    if not result["measured"]["whole"]:
        print(
            "bench-page: build/bench.json is of a short or partial measurement: run `make bench` without options",
            file=sys.stderr,
        )
        return 2
    PAGE.write_text(page(result))
    print(PAGE)
    return 0


def page(result: Mapping[str, Any]) -> str:
    """The text of the page."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    machine, measured = result["machine"], result["measured"]
    yield "# Benchmarks\n"
    yield f"Measured by `{measured['command']}` on {measured['day']}, and written by `make bench-page`. Wall times and CPU times depend on the machine;"
    yield "ratios were measured alternately within the same minutes and can be compared. A value is a median; a bar is its bound.\n"
    conditions = {
        "processor": f"{machine['cores']} cores of {machine['cpu']}",
        "host kernel": machine["host_kernel"],
        "guest kernel": machine["guest_kernel"],
        "Python": machine["python"],
        "load at the start": machine["load"],
    }
    yield from _table(("machine", ""), conditions.items())
    for part, (title, about) in PARTS.items():
        rows = [row for row in result["rows"] if row["part"] == part]
        if rows:
            yield f"\n## {title}\n"
            yield f"{about} `make bench BENCH=\"--only '{part}'\"` measures it alone.\n"
            yield from _table(("case", "measured", "bar", "unit", "details"), map(_cells, rows))
    if result["not_measured"]:
        yield "\n## Not measured\n"
        yield from (f"- {line}" for line in result["not_measured"])


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    missed = " (missed)" if row["holds"] is False else ""
    return row["case"], number(row["value"]) + missed, bar(row["at_least"], row["at_most"]), row["unit"], row["note"]


def _table(header: tuple[str, ...], rows: Any) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"


if __name__ == "__main__":
    sys.exit(main())
