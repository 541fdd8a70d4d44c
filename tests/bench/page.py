"""`make bench-page`: docs/benchmarks.md from build/bench.json, which `make bench` wrote. Never by hand, and never of a short measurement or of parts.

bench.json: machine, how it was measured, rows ---> a table a part, in the order of bench.py
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

# Part -> title, and what is measured how.
PARTS = {
    "speed": (
        "One flow",
        "One H-TCP flow with a buffer of 1 BDP, every ACK traced: virtual seconds of the guest a wall second.",
    ),
    "overhead": (
        "Around the packets",
        "What a run costs that has next to no packets: from the command line to its end, and one more in a sweep.",
    ),
    "memory": ("Memory", "The most that a guest's process holds at once."),
    "flows": (
        "Many flows",
        "So many H-TCP flows at once on one bottleneck, every ACK of each traced; a segment's cost is the guest's CPU time by the segments that arrived.",
    ),
    "growth": (
        "Bandwidth times time",
        "The guest's CPU time by what was carried: the first three carry as much, the others twice, four and eight times that.",
    ),
    "trace": (
        "An ACK traced",
        "CPU time of the whole process with every ACK traced less that with a sample a second, in turns, by the ACKs.",
    ),
    "scaling": (
        "More at a time",
        "The same sweep with more jobs on this machine, and with two Dask workers on loopback, against one.",
    ),
    "modules": (
        "The project's congestion controls",
        "CPU time of a segment against that under CUBIC on the same path, in turns.",
    ),
    "topologies": ("Large topologies", "From the start of a guest to the first packet."),
    "series": ("Pictures of what is kept", "Series over time from the store, thinned to what a picture shows."),
    "ns-3": (
        "Against ns-3",
        "The same dumbbell in ns-3 as Debian builds it, with a record of equal length at every ACK; whole processes, in turns. Slow start of ns-3 grows by a segment an ACK: with an ACK for each it loses as Linux does, with one for two it handles as many ACKs.",
    ),
    "real time": (
        "Against Mininet by the real clock",
        "The same experiment by real Mininet: whole processes, set-up included, in turns.",
    ),
    "iperf3": (
        "Against iperf3 in Mininet",
        "CPU time of the same goodput by iperf3 over Mininet in real time, the whole of both sides, in turns.",
    ),
}


def main() -> int:
    """Write the page; 2 without a result that is one."""
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
    yield f"Measured by `{measured['command']}` on {measured['day']}, and written by `make bench-page`. Wall times and CPU times belong to the machine;"
    yield "what is a ratio was measured in turns within the same minutes and is what can be compared. A value is a median; a bar is what it has to reach.\n"
    told = {
        "processor": f"{machine['cores']} cores of {machine['cpu']}",
        "host kernel": machine["host_kernel"],
        "guest kernel": machine["guest_kernel"],
        "Python": machine["python"],
        "load at the start": machine["load"],
    }
    yield from _table(("machine", ""), told.items())
    for part, (title, about) in PARTS.items():
        rows = [row for row in result["rows"] if row["part"] == part]
        if rows:
            yield f"\n## {title}\n"
            yield f"{about} `make bench BENCH=\"--only '{part}'\"` measures it alone.\n"
            yield from _table(("case", "measured", "bar", "unit", "how it came about"), map(_cells, rows))
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
