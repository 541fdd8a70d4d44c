"""`longhaul new-module`: a template of a congestion control, and an experiment that tests it, as files in a folder.

new_module_files/tcp_newcc.c, experiment.yaml  -->  FOLDER/tcp_<name>.c, <name>.yaml
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()

_TEMPLATE = Path(__file__).resolve().parent / "new_module_files"
_WORD = "newcc"
_ATTEMPT = "writing a module called"


@dataclass(frozen=True)
class NewModuleOptions:
    """The options of `longhaul new-module`."""

    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The module's name: lower-case letters, digits and underscores.")
    ]
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="The folder to write; ./NAME by default.")
    ] = None


@command(app, "new-module")
def new_module(options: NewModuleOptions) -> None:
    """Write a template of a congestion control, which compiles and runs, and an experiment that tests it."""
    from longhaul.orchestrator.spec.congestion_controls import CongestionControl
    from longhaul.orchestrator.spec.user_code.user_modules import clashing, is_control_name
    from longhaul.orchestrator.system.files import write_whole

    name, folder = options.name, options.folder or Path(options.name)
    if not is_control_name(name):
        hint = "use up to 15 lower-case letters, digits and underscores, a letter first, as in mine"
        raise PlanError(_ATTEMPT, repr(name), "this cannot be the name of a congestion control", hint)
    if (taken := clashing([CongestionControl(name, "")])) is not None:
        raise PlanError(_ATTEMPT, name, "the name is taken", f"needed: {taken.split(',')[0]}")
    source, test = folder / f"tcp_{name}.c", folder / f"{name}.yaml"
    for file in (source, test):
        if file.exists():
            raise PlanError(_ATTEMPT, name, f"{file} already exists", "give another --folder, or move the file away")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(source, _named("tcp_newcc.c", name))
    # Experiments have hyphens in their names, C has underscores.
    experiment = re.sub(r"(?m)^experiment: .*", lambda line: line[0].replace("_", "-"), _named("experiment.yaml", name))
    write_whole(test, experiment)
    rows = (
        (str(source), "the congestion control: change its algorithm"),
        (str(test), "its test: change the expectations"),
        (f"longhaul modules build {folder}", "compiles it, and prints the compiler's errors"),
        (f"longhaul modules check {folder}", "loads it into a guest and tries it on a lossy path that changes"),
        (f"longhaul run {test}", "runs the test: chart, numbers, exit code 1 if an expectation is missed"),
    )
    width = max(len(words) for words, _ in rows)
    for words, about in rows:
        print(f"{words:{width}}  {about}")


def _named(file: str, name: str) -> str:
    return (_TEMPLATE / file).read_text().replace(_WORD, name)
