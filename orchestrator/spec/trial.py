"""A trial of each congestion control: a short experiment that loads its module, loses some of its packets and changes the path.

The trial succeeds if the run ends in a kernel that reports no fault; its numbers are not a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.model import Experiment


def trial_of(control: str, kernel: str, modules: Sequence[Any] = ()) -> Experiment:
    """The trial of a control: a known one, or one of user-supplied modules."""
    return parse_experiment(_data(control, kernel) | {"modules": [*modules]})


def drawn_trials(control: str, kernel: str, modules: Sequence[Any], count: int) -> Iterator[Experiment]:
    """Trials on unusual paths, drawn from their numbers: the same ones each time. The parameters of the module keep their defaults."""
    for number in range(count):
        yield parse_experiment(_drawn(control, kernel, Random(number)) | {"modules": [*modules]})  # noqa: S311


def trial_name(control: str) -> str:
    """The name of its trial."""
    return "trial-" + re.sub("[^a-z0-9]+", "-", control.lower()).strip("-")


def _data(control: str, kernel: str) -> dict[str, Any]:
    return {
        "experiment": trial_name(control),
        "path": {"bandwidth": "50 Mbit/s", "rtt": "40 ms", "loss": 0.001, "ecn": "on", "queue": "codel"},
        "flows": [{"name": "pair", "cc": control, "count": 2}, {"name": "file", "cc": control, "size": "1 MB"}],
        "schedule": [{"at": "5 s", "path": {"rtt": "80 ms"}}, {"at": "8 s", "path": {"loss": "100 %"}}, {"at": "9 s", "path": {"loss": 0}}],
        "duration": "15 s",
        "kernel": kernel,
    }  # fmt: skip


def _drawn(control: str, kernel: str, draw: Random) -> dict[str, Any]:
    rate = draw.choice([64, 512, 2_000, 10_000, 50_000])
    rtt_ms = draw.choice([1, 5, 20, 80, 300])
    queue = draw.choice(["droptail", "droptail", "codel", "fq_codel", "red", "pie"])
    path = {
        "bandwidth": f"{rate} kbit/s",
        "rtt": f"{rtt_ms} ms",
        "queue": queue,
        "loss": draw.choice([0, 0, "0.1 %", "2 %", "20 %"]),
        "reverse_loss": draw.choice([0, 0, "5 %"]),
        "reorder": draw.choice([0, 0, "2 %"]),
        "duplicate": draw.choice([0, "1 %"]),
        "mtu": draw.choice([1500, 1500, 576, 9000]),
        "ecn": draw.choice(["off", "on"]),
    }
    if queue == "droptail":
        path["buffer"] = draw.choice(["1 packets", "4 packets", "1 BDP", "20 BDP"])
    flows = [
        {"name": "bulk", "cc": control, "count": draw.choice([1, 2, 5])},
        {"name": "file", "cc": control, "size": draw.choice(["1 KB", "100 KB"]), "start": "1 s"},
        {"name": "late", "cc": control, "start": "2 s", "stop": "3 s", "sack": draw.choice(["on", "off"])},
        {"name": "other", "cc": "cubic", "start": "500 ms"},
    ]
    schedule = [
        {"at": "1500 ms", "path": {"rtt": f"{draw.choice([1, 50, 200])} ms"}},
        {"at": "2500 ms", "path": {"loss": "100 %"}},
        {"at": "3 s", "path": {"loss": 0}, "flows": {"bulk": {"cc": "reno"}}},
        {"at": "4 s", "flows": {"bulk": {"cc": control}}},
    ]
    return {
        "experiment": trial_name(control),
        "path": path,
        "flows": flows,
        "schedule": schedule,
        "duration": "6 s",
        "seed": draw.randrange(1, 1_000),
        "kernel": kernel,
    }
