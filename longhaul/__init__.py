"""Longhaul, a congestion-control laboratory: run experiments in this process, read their results, or use a service.

    import longhaul

    result = longhaul.run("demo")                       compile and run, here, in virtual time
    result.measures["goodput(app)"]                     numbers
    result.frame("acks")                                every ACK: pandas, polars or pyarrow
    longhaul.Client("http://127.0.0.1:8080", token)     the same on a service

docs/python.md describes every function and type; docs/stability.md lists those that do not change.
"""

from __future__ import annotations

# Type checkers know this name; the module with it takes longer to load than all else here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from longhaul.client import Client
    from longhaul.laboratory.annotations import annotate
    from longhaul.laboratory.bisections import bisect
    from longhaul.laboratory.comparisons import compare
    from longhaul.laboratory.experiments import load, plan, run, sweep
    from longhaul.laboratory.exports import export
    from longhaul.laboratory.kept_runs import Rerun, kept_run, kept_run_groups, kept_runs, rerun, verify
    from longhaul.laboratory.kept_sweeps import kept_sweep
    from longhaul.laboratory.kernel_comparisons import compare_kernels
    from longhaul.laboratory.packets import packets
    from longhaul.laboratory.predictions import predict
    from longhaul.laboratory.queries import query
    from longhaul.laboratory.recordings import (
        convert_recording,
        describe_recording,
        generate_recording,
        import_recording,
        recordings,
        remove_recording,
    )
    from longhaul.laboratory.reproductions import reproduce
    from longhaul.laboratory.scripts import ScriptEnd, run_mininet
    from longhaul.laboratory.searches import search, tune
    from longhaul.laboratory.shells import Shell, shell
    from longhaul.orchestrator.execution.pipeline import Watcher
    from longhaul.orchestrator.spec.model import Experiment
    from longhaul.orchestrator.system.errors import LonghaulError
    from longhaul.results.bisection import Bisection
    from longhaul.results.comparison import Comparison
    from longhaul.results.plan import Plan
    from longhaul.results.prediction import Prediction
    from longhaul.results.reproduction import Reproduction
    from longhaul.results.result import Result
    from longhaul.results.run import Run, Series
    from longhaul.results.search import Search

# The module that defines each public name; it is imported on first use.
_HOMES = {
    "longhaul.client": ("Client",),
    "longhaul.laboratory.annotations": ("annotate",),
    "longhaul.laboratory.bisections": ("bisect",),
    "longhaul.laboratory.comparisons": ("compare",),
    "longhaul.laboratory.experiments": ("load", "plan", "run", "sweep"),
    "longhaul.laboratory.exports": ("export",),
    "longhaul.laboratory.kernel_comparisons": ("compare_kernels",),
    "longhaul.laboratory.kept_runs": ("Rerun", "kept_run", "kept_run_groups", "kept_runs", "rerun", "verify"),
    "longhaul.laboratory.kept_sweeps": ("kept_sweep",),
    "longhaul.laboratory.packets": ("packets",),
    "longhaul.laboratory.predictions": ("predict",),
    "longhaul.laboratory.queries": ("query",),
    "longhaul.laboratory.recordings": (
        "convert_recording",
        "describe_recording",
        "generate_recording",
        "import_recording",
        "recordings",
        "remove_recording",
    ),
    "longhaul.laboratory.reproductions": ("reproduce",),
    "longhaul.laboratory.scripts": ("ScriptEnd", "run_mininet"),
    "longhaul.laboratory.searches": ("search", "tune"),
    "longhaul.laboratory.shells": ("Shell", "shell"),
    "longhaul.orchestrator.execution.pipeline": ("Watcher",),
    "longhaul.orchestrator.spec.model": ("Experiment",),
    "longhaul.orchestrator.system.errors": ("LonghaulError",),
    "longhaul.results.bisection": ("Bisection",),
    "longhaul.results.comparison": ("Comparison",),
    "longhaul.results.plan": ("Plan",),
    "longhaul.results.prediction": ("Prediction",),
    "longhaul.results.reproduction": ("Reproduction",),
    "longhaul.results.result": ("Result",),
    "longhaul.results.run": ("Run", "Series"),
    "longhaul.results.search": ("Search",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Bisection",
    "Client",
    "Comparison",
    "Experiment",
    "LonghaulError",
    "Plan",
    "Prediction",
    "Reproduction",
    "Rerun",
    "Result",
    "Run",
    "ScriptEnd",
    "Search",
    "Series",
    "Shell",
    "Watcher",
    "annotate",
    "bisect",
    "compare",
    "compare_kernels",
    "convert_recording",
    "describe_recording",
    "export",
    "generate_recording",
    "import_recording",
    "kept_run",
    "kept_run_groups",
    "kept_runs",
    "kept_sweep",
    "load",
    "packets",
    "plan",
    "predict",
    "query",
    "recordings",
    "remove_recording",
    "reproduce",
    "rerun",
    "run",
    "run_mininet",
    "search",
    "shell",
    "sweep",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("longhaul")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'longhaul' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
