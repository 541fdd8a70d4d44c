"""What commands load: known answers, so that no start grows unnoticed. `python -X importtime -m longhaul --help` shows times."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from longhaul.cli.help_lines import HELP_LINES
from longhaul.cli.main import COMMANDS, app
from longhaul.cli.root_help import print_root_help
from tests.support.command import loaded_by, longhaul_anew
from tests.support.programs import run_program

# Each takes longer to load than the whole of `longhaul --help`.
HEAVY = {"numpy", "sqlalchemy", "yaml", "pydantic", "alembic", "asyncio", "fastapi", "matplotlib", "pandas", "pyarrow"}
# Modules of longhaul that these load; a package is loaded with the first module in it.
OF_THE_HELP = {"longhaul.__main__", "longhaul.cli.help_lines", "longhaul.cli.root_help"}
OF_THE_VERSION = OF_THE_HELP | {
    "longhaul.cli.main",
    "longhaul.cli.terminal.crashes",
    "longhaul.cli.terminal.options",
    "longhaul.cli.terminal.parameters",
    "longhaul.orchestrator.system.errors",
    "longhaul.orchestrator.system.files",
    "longhaul.orchestrator.system.lazy_dataclasses",
}


# Modules that no help needs, and that take longer to load than its text to be printed.
NOT_FOR_THE_HELP = {*HEAVY, "rich", "typer", "typing", "json", "pathlib", "dataclasses"}


@pytest.mark.parametrize(
    ("words", "needed", "unneeded"),
    [("--help", OF_THE_HELP, NOT_FOR_THE_HELP), ("--version", OF_THE_VERSION, {*HEAVY, "rich"})],
)
def test_a_start_loads_no_verb(words: str, needed: set[str], unneeded: set[str]) -> None:
    loaded = loaded_by(words)
    ours = {name for name in loaded if name.startswith("longhaul.")}
    assert {name for name in ours if not any(other.startswith(f"{name}.") for other in ours)} == needed
    assert not loaded & unneeded


@pytest.mark.parametrize("columns", ["200", "80", "79", "50", "0", "wide"])
def test_the_help_is_that_of_the_command_line(
    columns: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    root = get_command(app)
    with root.make_context("longhaul", [], resilient_parsing=True) as context:
        printed = f"{root.get_help(context)}\n"
    for name, words in (("longhaul", ["--help"]), ("longhaul", ["run", "--help"]), ("__main__.py", ["--help"])):
        monkeypatch.setattr(sys, "argv", [f"/usr/bin/{name}", *words])
        answered = print_root_help()
        assert answered is (columns not in ("79", "50") and (name, words) == ("longhaul", ["--help"]))
        assert capfd.readouterr().out == (printed if answered else "")


def test_the_help_of_a_verb_loads_nothing_heavy() -> None:
    assert "longhaul.cli.experiments.run" in (loaded := loaded_by("run", "--help"))
    assert not loaded & HEAVY


def test_an_experiment_without_modules_loads_nothing_that_reads_or_builds_them() -> None:
    loaded = loaded_by("plan", "quick")
    assert "longhaul.orchestrator.plan.compile" in loaded
    assert not {name for name in loaded if name.startswith("longhaul.orchestrator.modules.")} - {
        "longhaul.orchestrator.modules.content"
    }


def test_no_verb_loads_anything_heavy_before_it_is_called() -> None:
    code = (
        "import json, sys\nfrom importlib import import_module\n"
        f"heavy, found = {HEAVY!r}, {{}}\n"
        f"for verb in {list(COMMANDS.values())!r}:\n"
        "    import_module(f'longhaul.cli.{verb}')\n"
        "    found[verb] = sorted(heavy & set(sys.modules))\n"
        "print(json.dumps(found))"
    )
    done = run_program([sys.executable, "-c", code], check=True)
    assert json.loads(done.stdout) == {verb: [] for verb in COMMANDS.values()}


def test_the_list_of_commands_is_the_same_with_every_verb_loaded() -> None:
    """The help and the completion of a shell print generated lines; they match the verbs themselves."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    with root.make_context("longhaul", ["list"]) as context:
        offered = {one.value: one.help for one in root.shell_complete(context, "")}
    verbs = {name: root.commands[name] for name in COMMANDS}
    assert not any(verb.hidden for verb in verbs.values())
    assert {name: offered[name] for name in verbs} == {name: verb.get_short_help_str() for name, verb in verbs.items()}
    assert set(HELP_LINES) == set(COMMANDS)


def test_a_database_is_closed_at_the_end(tmp_path: Path) -> None:
    """Python does not look for garbage then, so nothing that has to be closed is left to it."""
    done = longhaul_anew("list", "runs", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "no runs yet\n")
    assert {file.name for file in tmp_path.iterdir()} == {"catalogue.lock", "catalogue.sqlite"}


@pytest.mark.parametrize("code", [0, 4])
@pytest.mark.parametrize("waiting", [False, True], ids=["alone", "with a thread at work"])
def test_a_quick_end_loses_nothing(code: int, waiting: bool) -> None:
    """What is printed, what was to happen at the end, and the work of other threads."""
    program = (
        "import atexit, sys, threading, time\n"
        "import longhaul.__main__ as command, longhaul.cli.main\n"
        "def work():\n    time.sleep(0.2)\n    print('work')\n"
        "def begin():\n"
        "    atexit.register(print, 'end')\n"
        f"    if {waiting}:\n        threading.Thread(target=work).start()\n"
        "    sys.stdout.write('out ' * 50_000 + '\\n')\n"
        "    sys.stderr.write('err')\n"
        f"    sys.exit({code})\n"
        "longhaul.cli.main.main = begin\n"
        "sys.argv = ['longhaul', 'x']\n"
        "command.main()\n"
    )
    done = run_program([sys.executable, "-c", program])
    assert (done.returncode, done.stderr) == (code, "err")
    assert done.stdout.split() == ["out"] * 50_000 + ["work"] * waiting + ["end"]


def test_a_quick_end_reports_output_that_cannot_be_written() -> None:
    program = [sys.executable, "-m", "longhaul", "--version"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert "standard output: No space left on device" in done.stderr
