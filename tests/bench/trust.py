"""`make trust`: the same experiments in virtual time, on Mininet in virtual and in real time, and on this host if possible; writes docs/trust.md.

The page lists the difference of each measure from the sandbox's, with an interval, and the number of void runs. It is committed as
measured on one machine.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from longhaul.orchestrator.analysis.trust import Difference, differences
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import load_experiment, shipped_experiments
from longhaul.orchestrator.system.settings import load_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"


@dataclass(frozen=True)
class Place:
    """A backend, its place and its clock."""

    title: str
    backend: str
    where: str | None = None
    clock: str | None = None


@dataclass(frozen=True)
class Lab:
    """The repeats of each experiment (None: its own), and whether to use kept runs."""

    repeats: int | None
    kept: bool


REFERENCE = Place("sandbox", "sandbox")
PLACES = (
    Place("Mininet in a guest, virtual time", "mininet", "guest", "virtual"),
    Place("Mininet in a guest, real time", "mininet", "guest", "real"),
    Place("Mininet on this host", "mininet", "host", "real"),
)

# The factor and the unit with which a measure is printed.
SCALES = {
    "goodput": (1e-6, "Mbit/s"),
    "rtt_min": (1.0, "ms"),
    "rtt_p50": (1.0, "ms"),
    "cwnd_mean": (1.0, "packets"),
    "retransmits": (1.0, ""),
    "utilisation": (100.0, "%"),
    "queue_mean": (1.0, "packets"),
    "drops": (1.0, ""),
    "jain": (1.0, ""),
}


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="make trust", description=__doc__)
    parser.add_argument("--repeats", type=int, help="of each experiment, instead of its own")
    parser.add_argument("--only", nargs="*", help="experiments, without trust/")
    parser.add_argument("--kept", action="store_true", help="take runs that were kept earlier, by the same programs")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    names = [name for name in shipped_experiments() if name.startswith("trust/")]
    names = [name for name in names if not options.only or name.removeprefix("trust/") in options.only]
    lab = Lab(options.repeats, options.kept)
    sections = [line for name in names for line in section(name, lab)]
    options.output.write_text(
        "\n".join([PAGE.read_text().partition("\n## As measured\n")[0], *machine(), "", *sections]) + "\n"
    )
    print(options.output)
    return 0


def section(name: str, lab: Lab) -> Iterator[str]:
    """One experiment: a row for each measure, a column for each place."""
    experiment = load_experiment(name)
    yield f"## {name.removeprefix('trust/')}\n"
    yield f"{experiment.about} `longhaul plan {name}` has every number.\n"
    reference, _ = measured(name, REFERENCE, lab)
    columns: dict[str, list[Difference]] = {}
    for place in PLACES:
        documents, problem = measured(name, place, lab)
        if documents:
            columns[place.title] = list(differences(reference, documents))
        if problem:
            yield f"{place.title}: {problem}\n"
    yield "| measure | sandbox | " + " | ".join(columns) + " |"
    yield "|---|---|" + "---|" * len(columns)
    for row in differences(reference, reference):
        cells = [
            next((one for one in found if (one.measure, one.flow) == (row.measure, row.flow)), None)
            for found in columns.values()
        ]
        scale, unit = SCALES[row.measure]
        title = row.measure if row.flow is None else f"{row.measure} of {row.flow}"
        yield f"| {title} | {row.value * scale:.4g} {unit} | " + " | ".join(cell(one) for one in cells) + " |"
    yield ""


def measured(name: str, place: Place, lab: Lab) -> tuple[list[RunDocument], str]:
    """The successful runs of a place, and a note about the others."""
    print(f"{name}: {place.title}", file=sys.stderr)
    settings = load_settings()
    backend = open_backend(place.backend, settings)
    plan = compile_plan(
        load_experiment(name), repeats=lab.repeats, backend=place.backend, where=place.where, clock=place.clock
    )
    if missing := backend.check(plan.runs[0]):
        return [], "not measured, this machine lacks " + ", ".join(piece for piece, _ in missing) + "."
    documents = Pipeline(backend, Store(settings), use_cache=lab.kept).execute(plan, settings.jobs)
    sound = [document for document in documents if document["status"] in ("done", "missed")]
    failed = [document["error"]["what"] for document in documents if document["status"] == "failed"]
    return sound, f"{len(failed)} of {len(documents)} runs void ({failed[0]})." if failed else ""


def cell(one: Difference | None) -> str:
    """A difference and its interval, in per cent of the sandbox's value unless that is zero."""
    if one is None:
        return "not known"
    if not one.value:
        scale, unit = SCALES[one.measure]
    else:
        scale, unit = 100 / abs(one.value), "%"
    low, high = one.low * scale, one.high * scale
    if max(abs(low), abs(high)) < 0.005:
        return f"0 {unit}".rstrip()
    return f"{one.difference * scale:+.2f} {unit} [{low:+.2f}, {high:+.2f}]{'' if one.agrees else ' *'}"


def machine() -> Sequence[str]:
    """The machine and the day of the measurement."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    day = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        "## As measured\n",
        f"By `make trust` on {day}: {os.cpu_count()} cores of {model}, host kernel {platform.release()}. A difference is the mean of",
        "those from the sandbox's runs of the same seeds, with its 95 % interval ([how](comparing.md)); a star marks one that chance does not explain.",
    )


if __name__ == "__main__":
    sys.exit(main())
