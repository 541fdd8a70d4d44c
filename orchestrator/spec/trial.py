"""A trial of each congestion control: a short experiment that loads its module, loses some of its packets and changes the path.

The trial succeeds if the run ends in a kernel that reports no fault; its numbers are not a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.user_modules import own_controls
from longhaul.orchestrator.system.errors import SpecError


def trials(paths: Sequence[str], kernel: str) -> Iterator[tuple[str, Experiment]]:
    """A trial of each control in these folders and objects, or of each known one; SpecError for a path without a control."""
    if not paths:
        for name in CONGESTION_CONTROLS:
            yield name, trial_of(name, kernel)
    for path in paths:
        try:
            controls = own_controls(Path(path))
        except ValueError as error:
            raise SpecError(path, [f"needed: {error}"]) from None
        for control in controls:
            yield control.name, parse_experiment(_data(control.name, kernel) | {"modules": [path]})


def trial_of(control: str, kernel: str) -> Experiment:
    """The trial of a known control."""
    return parse_experiment(_data(control, kernel))


def trial_name(control: str) -> str:
    """The name of its trial."""
    return f"trial-{control.replace('_', '-')}"


def _data(control: str, kernel: str) -> dict[str, Any]:
    return {
        "experiment": trial_name(control),
        "path": {"bandwidth": "50 Mbit/s", "rtt": "40 ms", "loss": 0.001, "ecn": "on", "queue": "codel"},
        "flows": [{"name": "pair", "cc": control, "count": 2}, {"name": "file", "cc": control, "size": "1 MB"}],
        "schedule": [{"at": "5 s", "path": {"rtt": "80 ms"}}, {"at": "8 s", "path": {"loss": "100 %"}}, {"at": "9 s", "path": {"loss": 0}}],
        "duration": "15 s",
        "kernel": kernel,
    }  # fmt: skip
