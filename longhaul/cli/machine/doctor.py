"""`longhaul doctor`: what this machine can do, and for each capability that is not ready, every missing piece with its remedy."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import EXIT_DONE
from longhaul.orchestrator.system.errors import BackendUnavailable, PlanError, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.cli.machine.capabilities import Capability
    from longhaul.orchestrator.system.settings import Settings

app = verb_app()


@dataclass(frozen=True)
class DoctorOptions:
    """The options of `longhaul doctor`."""

    needed: Annotated[
        list[str] | None,
        typer.Option(
            "--need",
            metavar="CAPABILITY",
            help="The capability that the exit code is about, such as hosts; sandbox by default.",
        ),
    ] = None
    in_full: Annotated[
        bool, typer.Option("--all", help="Show what is missing for every capability, needed or not.")
    ] = False
    as_json: JsonOption = False


@command(app)
def doctor(options: DoctorOptions) -> int:
    """Show what this machine can do, and how to get what is missing; exit code 3 if something needed is missing."""
    from longhaul.cli.machine.capabilities import CAPABILITIES, WANTED, capabilities
    from longhaul.orchestrator.kernels.build import built_kernels
    from longhaul.orchestrator.system.settings import load_settings

    needed, in_full, as_json = options.needed or [], options.in_full, options.as_json
    for name in needed:
        if name not in CAPABILITIES:
            hint = f"known: {', '.join(CAPABILITIES)}{nearest(name, CAPABILITIES)}"
            raise PlanError("examining this machine for", name, "no such capability", hint)
    wanted = set(needed) or {WANTED}
    settings = load_settings()
    machine = _machine(settings)
    kernels = {row["version"]: row["built"] for row in built_kernels(settings)}
    dangers = [settings.proxy_sign_in.danger] if settings.proxy_sign_in else []
    found = []
    if not as_json:
        print("; ".join(f"{name} {value}" for name, value in machine.items()))
        print("; ".join(f"kernel {version} {'built' if built else 'not built'}" for version, built in kernels.items()))
        for danger in dangers:
            print(f"danger: {danger}")
    for capability in capabilities(settings):
        found.append(capability)
        if not as_json and (capability.ready or in_full or capability.capability in wanted):
            _show(capability)
    folded = [one.capability for one in found if not (one.ready or in_full or one.capability in wanted)]
    if folded and not as_json:
        print(f"not ready: {', '.join(folded)} (`longhaul doctor --all` names what each of them lacks)")
    if as_json:
        rows = [{**asdict(one), "ready": one.ready} for one in found]
        print(json.dumps({"machine": machine, "kernels": kernels, "capabilities": rows, "dangers": dangers}))
    return EXIT_DONE if all(one.ready for one in found if one.capability in wanted) else BackendUnavailable.exit_code


def _show(capability: Capability) -> None:
    print(f"{capability.capability}: {'ready' if capability.ready else 'not ready'}")
    if not capability.ready:
        print(f"  ({capability.about})")
    for one in capability.missing:
        print(f"  missing {one.piece}: {one.remedy}")


def _machine(settings: Settings) -> dict[str, str]:
    return {
        "Linux": f"{platform.release()} on {platform.machine()}",
        "Python": platform.python_version(),
        "processors": str(len(os.sched_getaffinity(0))),
        "user": "root" if os.geteuid() == 0 else "not root",
        "home": str(settings.home),
        "cache": str(settings.cache),
    }
