"""Tries congestion controls in guests: whether each builds, loads and moves data, on one kernel or on several.

a source  --build_source-->  its modules  --a short run of each control (spec/trial.py)-->  one Checked for each control and kernel
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.module_crashes import CALL_MARK
from longhaul.orchestrator.execution.evaluation import CHECKING
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.modules.build import BuiltModule, build_source, can_build
from longhaul.orchestrator.modules.content import adopt, place_of
from longhaul.orchestrator.modules.controls import find_controls
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.guest_logs import find_log
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.kernel_versions import WIDE_NAMES
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.trial import drawn_trials, trial_of
from longhaul.orchestrator.spec.user_code.user_modules import Entry, is_usable
from longhaul.orchestrator.system.errors import BackendUnavailable, LonghaulError, SpecError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

_LOADING = "loading module"
# A run that fails another check may have no result, and its control has moved data all the same.
_CHECKS_OF_CONTROLS = ("flow: ", "congestion control in use: ", "trace complete: ")


@dataclass(frozen=True, slots=True)
class Checked:
    """A control on a kernel: how far it came, and why not further.

    `module` is the name of its module in the kernel, and `source` the source as it was named, or "" for the kernel's and the project's.
    """

    source: str
    cc: str
    module: str
    kernel: str
    builds: bool = True
    loads: bool = True
    moves_data: bool = True
    fault: str = ""
    # The kernel with room for its private area, where it needs that.
    with_kernel: str = ""
    # The calls that led to a crash, the innermost first, with their source lines.
    report: tuple[str, ...] = ()

    @property
    def control(self) -> tuple[str, str, str]:
        """Which control it is, whatever the kernel."""
        return self.source, self.module, self.cc

    @property
    def ok(self) -> bool:
        """Whether it can be used."""
        return self.moves_data


def check_known(kernels: Sequence[str], settings: Settings, drawn: int = 0) -> Iterator[Checked]:
    """Try each control of the kernel and of the project, also on `drawn` unusual paths."""
    with _pipeline(settings) as pipeline:
        for name, control in CONGESTION_CONTROLS.items():
            for kernel in kernels:
                yield _tried(pipeline, Checked("", name, control.module, kernel), name, [], drawn)


def check_source(written: str, kernels: Sequence[str], settings: Settings, drawn: int = 0) -> Iterator[Checked]:
    """Try each control of a folder, an archive, a repository or an object, also on `drawn` unusual paths; SpecError if it has none."""
    try:
        place = place_of(written, settings.cache)
        with _pipeline(settings) as pipeline:
            for kernel in kernels:
                yield from _check_on(pipeline, written, place, kernel, settings, drawn)
    except ValueError as error:
        raise SpecError(written, [f"needed: {error}"]) from None


def _check_on(
    pipeline: Pipeline, written: str, place: Path, kernel: str, settings: Settings, drawn: int
) -> Iterator[Checked]:
    unusable: set[str] = set()
    if place.is_dir():
        (source,) = adopt([place], settings.cache)
        for module in build_source(settings, kernel, source).modules:
            if fault := _fault_of(module, source, kernel, settings):
                unusable.add(module.name)
                for name in module.controls or (module.name,):
                    yield Checked(written, name, module.name, kernel, False, False, False, fault)
    controls = [one for one in find_controls(place, [kernel]).controls if one.module not in unusable]
    given = {one.name: f"trial_{number}" for number, one in enumerate(controls) if not is_usable(one.name)}
    entry = Entry(written, given).at(written)
    for one in controls:
        yield _tried(
            pipeline, Checked(written, one.name, one.module, kernel), given.get(one.name, one.name), [entry], drawn
        )


def _fault_of(module: BuiltModule, source: str, kernel: str, settings: Settings) -> str:
    """Why a module cannot be used on a kernel, nor on that with room for its private area; "" if it can."""
    wide = WIDE_NAMES.get(kernel, "") if module.needs_room else ""
    if not wide:
        return module.problem
    if not can_build(settings, wide):
        return f"{module.problem}; run `longhaul kernel build {wide}`, which has room for it"
    there = [one.problem for one in build_source(settings, wide, source).modules if one.name == module.name]
    return there[0] if there else ""


def _tried(pipeline: Pipeline, checked: Checked, cc: str, modules: Sequence[Any], drawn: int) -> Checked:
    """The trial of a control, then drawn ones up to the first that fails."""
    for experiment in (trial_of(cc, checked.kernel, modules), *drawn_trials(cc, checked.kernel, modules, drawn)):
        checked = _run(pipeline, checked, experiment)
        if not checked.ok:
            break
    return checked


def _run(pipeline: Pipeline, checked: Checked, experiment: Experiment) -> Checked:
    try:
        plan = compile_plan(experiment)
        if plan.runs[0].kernel != checked.kernel:
            checked = replace(checked, with_kernel=plan.runs[0].kernel)
        (document,) = pipeline.execute(plan)
    except BackendUnavailable:
        raise
    except LonghaulError as error:
        return replace(checked, loads=False, moves_data=False, fault=str(error))
    if "error" not in document:
        return checked
    failed = document["error"]
    if failed["attempting"] == CHECKING and not any(one in failed["what"] for one in _CHECKS_OF_CONTROLS):
        return checked
    return replace(
        checked,
        loads=failed["attempting"] != _LOADING,
        moves_data=False,
        fault=failed["what"],
        report=_report(pipeline.store, document["run"]),
    )


def _report(store: Store, run: str) -> tuple[str, ...]:
    """The calls that led to a fault of the kernel, with source lines, as backends/module_crashes.py added them to the log."""
    try:
        text = find_log(store, run).read_text(errors="replace")
    except LonghaulError:
        return ()
    return tuple(line.removeprefix(CALL_MARK).rstrip() for line in text.splitlines() if line.startswith(CALL_MARK))


@contextmanager
def _pipeline(settings: Settings) -> Iterator[Pipeline]:
    """The sandbox with a store of its own: no later command needs these runs."""
    with tempfile.TemporaryDirectory() as home:
        yield Pipeline(open_backend("sandbox", settings), Store(replace(settings, home=Path(home))))
