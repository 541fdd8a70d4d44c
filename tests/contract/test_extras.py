"""Each extra, removed from an environment that has all others: the first command that misses it says so, before any work, with its exit code."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from longhaul.orchestrator.system.errors import PackagesMissing
from longhaul.orchestrator.system.extras import EXTRAS, remedy_for
from tests.support.environments import environment_with, installed
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
DECLARED: dict[str, list[str]] = PROJECT["optional-dependencies"]

# What a user types, below LONGHAUL_HOME; the settings before it, as in a shell.
COMMANDS = {
    "query": ["query SELECT"],
    "service": ["serve --port 0"],
    "postgresql": ["LONGHAUL_DATABASE=postgresql://localhost/none list runs"],
    "cluster": [
        "worker --scheduler tcp://127.0.0.1:1",
        "LONGHAUL_DASK=tcp://127.0.0.1:1 serve --port 0",
    ],
    "tuning": [
        "tune quick --for goodput(app) --param app.beta=1,2",
        "search quick --over path.rtt=10ms..20ms --claim utilisation>0.1",
    ],
    "figures": [
        "run quick --report figure.svg",
        "reproduce -o pages",
        "tune quick --for goodput(app) --param app.beta=1,2 --heat-map map.svg",
    ],
    "hosts": ["hosts check inventory.yml"],
}
# What a program writes.
PROGRAMS = {
    "frames": "from longhaul.results.frames import rows_table",
    "tuning": "import longhaul; longhaul.tune('quick', ['app.beta=1,2'], 'goodput(app)')",
    "figures": "from longhaul.orchestrator.analysis.figures.canvas import style; style()",
}


def _name(requirement: str) -> str:
    return re.split(r"[\[<=>]", requirement)[0]


def test_every_extra_is_declared_and_has_its_modules() -> None:
    assert {*EXTRAS, "all", "dev"} == set(DECLARED)
    assert set(COMMANDS) | set(PROGRAMS) == set(EXTRAS)
    assert DECLARED["all"] == [f"longhaul[{','.join(EXTRAS)}]"]
    owners = packages_distributions()
    core = {_name(one) for one in PROJECT["dependencies"]}
    for name, extra in EXTRAS.items():
        declared = {_name(one) for one in DECLARED[name]}
        assert declared == {owner.replace("_", "-") for module in extra.modules for owner in owners[module]}, name
        assert not declared & core, name


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The Python of an environment that lacks an extra's packages and has everything else."""
    made: dict[str, Path] = {}

    def of(extra: str) -> Path:
        if extra not in made:
            lacking = {_name(one) for one in DECLARED[extra]}
            made[extra] = environment_with(tmp_path_factory.mktemp(extra) / "env", installed() - lacking)
        return made[extra]

    return of


@pytest.mark.parametrize(("extra", "command"), [(name, one) for name, group in COMMANDS.items() for one in group])
def test_a_command_names_the_extra_that_it_misses(
    extra: str, command: str, without: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "inventory.yml").write_text("all: {}\n")
    words = command.split()
    settings = dict(word.split("=", 1) for word in words if re.match(r"LONGHAUL_\w+=", word))
    done = run_program(
        [without(extra), "-m", "longhaul", *(word for word in words if not word.startswith("LONGHAUL_"))],
        cwd=tmp_path,
        env={"LONGHAUL_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **settings},
    )
    sentence = f"`longhaul[{extra}]` is not installed; {remedy_for(extra)}"
    assert done.stderr == f"longhaul: loading packages for {EXTRAS[extra].purpose}: {sentence}\n"
    assert (done.returncode, done.stdout) == (PackagesMissing.exit_code, "")


@pytest.mark.parametrize("extra", PROGRAMS)
def test_a_program_gets_the_error(extra: str, without: Callable[[str], Path], tmp_path: Path) -> None:
    done = run_program(
        [without(extra), "-c", PROGRAMS[extra]],
        cwd=tmp_path,
        env={"LONGHAUL_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("longhaul.orchestrator.system.errors.PackagesMissing")
    assert f"`longhaul[{extra}]` is not installed" in done.stderr


def test_doctor_lists_every_extra_of_a_machine_that_lacks_it() -> None:
    """`longhaul doctor --all` has a capability for each; tests/guest/commands/test_core_packages.py runs it."""
    from longhaul.cli.machine.capabilities import CAPABILITIES

    assert set(EXTRAS) <= set(CAPABILITIES)
