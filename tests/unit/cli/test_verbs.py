"""The layout of the command line: a file and a frozen options object for each verb, which is loaded when it is used."""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from typing import get_type_hints

import pytest

from longhaul.cli.main import COMMANDS
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

CLI = REPOSITORY / "longhaul/cli"


def test_every_file_of_a_verb_is_a_command() -> None:
    helpers = {
        "experiments/remote",
        "machine/capabilities",
        "machine/deploy",
        "machine/kernels_of_service",
        "machine/recording_texts",
        "machine/system_packages",
    }
    files = {
        file.relative_to(CLI).with_suffix("").as_posix()
        for folder in ("experiments", "runs", "machine", "service")
        for file in (CLI / folder).glob("*.py")
        if file.name != "__init__.py"
    }
    assert files - helpers == {module.replace(".", "/") for module in COMMANDS.values()}
    assert all(name.replace("-", "_") == module.rpartition(".")[2] for name, module in COMMANDS.items())


@pytest.mark.parametrize("module", COMMANDS.values())
def test_a_verb_takes_one_frozen_object(module: str) -> None:
    loaded = import_module(f"longhaul.cli.{module}")
    names = {
        one.callback.__name__ for one in loaded.app.registered_commands if one.callback is not None
    }  # what the user can call
    verbs = [getattr(loaded, name) for name in names]
    assert verbs
    for verb in verbs:
        assert verb.__doc__
        hints = {name: hint for name, hint in get_type_hints(verb).items() if name != "return"}
        assert set(hints) <= {"options"}, verb
        for options in hints.values():
            assert dataclasses.is_dataclass(options)
            assert vars(options)["__dataclass_params__"].frozen, options
            assert f"longhaul {module.rpartition('.')[2].replace('_', '-')}" in str(options.__doc__)


def test_a_verb_loads_no_other_verb() -> None:
    code = (
        "import sys; sys.argv = ['longhaul', 'log', '--help']\n"
        "from longhaul.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*(name for name in sys.modules if name.startswith('longhaul.')), file=sys.stderr)"
    )
    done = run_program([sys.executable, "-c", code], check=True)
    loaded = done.stderr.split()
    assert "longhaul.cli.runs.log" in loaded
    verbs = {f"longhaul.cli.{module}" for module in COMMANDS.values()} - {"longhaul.cli.runs.log"}
    assert not verbs & set(loaded)
    assert not any(name.startswith(("longhaul.laboratory", "longhaul.orchestrator.plan")) for name in loaded)
