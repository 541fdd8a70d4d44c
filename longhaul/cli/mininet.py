"""`longhaul mininet`: a live net of an experiment, or a Mininet script of one's own in a guest."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from longhaul.orchestrator.backends.consoles import open_prompt, run_program
from longhaul.orchestrator.backends.mininet import NET, MininetBackend
from longhaul.orchestrator.backends.mininet_host import open_prompt_on_host
from longhaul.orchestrator.backends.programs import PYTHON
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import BackendUnavailable, PlanError
from longhaul.orchestrator.system.settings import load_settings

_MN = "/usr/bin/mn"


def open_mininet(
    words: Sequence[str],
    changes: Sequence[str],
    *,
    where: str,
    clock: str | None,
    kernel: str | None,
    seed: int | None,
) -> int:
    """What the first word asks for: `mn`, a script (.py), or an experiment; the exit code."""
    what, *arguments = words
    if what == "mn" or what.endswith(".py"):
        if changes:
            raise PlanError("running", what, "--set is for experiments", "leave it out")
        return _script(what, arguments, where, clock or "virtual", kernel or "6.12", 1 if seed is None else seed)
    if kernel is not None:
        raise PlanError("opening", what, "--kernel is for scripts", "use --set kernel=VERSION")
    if arguments:
        raise PlanError("opening", what, f"an experiment takes no more words, read {' '.join(arguments)}")
    if clock not in (None, "real"):
        raise PlanError("opening", what, "a prompt waits for a person, and virtual time does not", "use --clock real")
    return _live(what, changes, where, seed)


def _script(what: str, arguments: Sequence[str], where: str, clock: str, kernel: str, seed: int) -> int:
    if where == "host":
        raise PlanError(
            "running", what, "scripts run in guests only", "on the host itself, start it with python3 as root"
        )
    script = _MN if what == "mn" else str(Path(what).absolute())
    if not Path(script).is_file():
        raise PlanError("running", what, "there is no such file", "install mininet" if what == "mn" else "")
    settings = load_settings()
    asked = load_experiment("quick", [f'kernel="{kernel}"'])
    _insist(
        MininetBackend(settings).check(compile_plan(asked, backend="mininet", where=where, clock=clock).runs[0]), where
    )
    with Staging(settings.home) as staging, staging.directory("mininet") as directory:
        code = run_program(
            settings, directory, [PYTHON, script, *arguments], kernel=kernel, seed=seed, virtual=clock == "virtual"
        )
        if code and _wanted_switch(directory):
            print(
                "longhaul: this script asks for Open vSwitch, which no guest has; use LinuxBridge without a controller"
                " (mn: --switch lxbr --controller none)",
                file=sys.stderr,
            )
    return code


def _wanted_switch(directory: Path) -> bool:
    said = b"".join((directory / name).read_bytes() for name in ("output.txt", "errors.txt"))
    return b"ovs-" in said or b"openvswitch" in said.lower()


def _live(what: str, changes: Sequence[str], where: str, seed: int | None) -> int:
    settings = load_settings()
    plan = compile_plan(load_experiment(what, changes), seed=seed, backend="mininet", where=where, clock="real")
    run = plan.runs[0]
    if len(plan.runs) > 1:
        print(f"longhaul: {what} has {len(plan.runs)} runs; this is the net of the first", file=sys.stderr)
    _insist(MininetBackend(settings).check(run), where)
    with Staging(settings.home) as staging, staging.directory("mininet") as directory:
        if where == "guest":
            return open_prompt(settings, run, directory)
        return open_prompt_on_host(run, directory, PYTHON, NET)


def _insist(missing: list[tuple[str, str]], where: str) -> None:
    if missing:
        raise BackendUnavailable(f"mininet --in {where}", missing)
