"""A small experiment, and the results of its runs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Run
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from longhaul.orchestrator.spec.load import Experiment, parse_experiment
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.tested_kernels import TESTED_KERNELS


@dataclass(frozen=True)
class Finished:
    """A finished run with its files."""

    document: Any
    run: Run
    trace: Any
    facts: dict[str, Any]


Runner = Callable[..., Finished]


def experiment(**changes: Any) -> Experiment:
    """A one-flow dumbbell, changed at top-level keys; path is merged, or left out where it is None."""
    written: dict[str, Any] = {
        "experiment": "test",
        "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
        "start_jitter": "0 s",
    }
    if TESTED_KERNELS != ORDINARY_KERNELS:
        written["kernel"] = TESTED_KERNELS[0]
    changes = copy.deepcopy(changes)
    path = changes.pop("path", {})
    if path is None:
        del written["path"]
    else:
        written["path"] |= path
    return parse_experiment(written | changes, "test")


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """This machine's kernel cache, and a separate store for the session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGHAUL_HOME", str(tmp_path_factory.mktemp("home")))
        yield load_settings()
