"""The documentation, executed: every block of commands without a mark that it belongs elsewhere, and the output shown for it.

Shown output must match, with `...` for parts that vary; `RUN` stands for the run that was kept last.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul, warm_shell
from tests.support.folders import REPOSITORY
from tests.support.pages import PAGES, Block, blocks
from tests.support.programs import run_program
from tests.support.service import Service, served

_KEPT = re.compile(r"# (\S+\.yaml)")
_SAME = doctest.OutputChecker()
_HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def of_pages() -> Iterator[tuple[Path, list[Block]]]:
    for page in PAGES:
        code = [block for block in blocks(page) if not block.not_run]
        if any(block.language == "python" or any(block.steps()) for block in code):
            yield page, code


class Terminal:
    """A shell in a new folder, as for a user who follows a page; exported variables and the folder persist between steps."""

    def __init__(self, folder: Path, home: Path, **environment: str) -> None:
        self.folder, self.home, self.environment = folder, home, environment
        folder.mkdir()
        self.warm, self.socket = warm_shell(folder / ".warm")
        for name in (".venv", "playbooks"):
            (folder / name).symlink_to(REPOSITORY / name)

    def run(self, command: str) -> str:
        state = self.folder / ".state"
        state.touch()
        done = run_program(
            [
                "bash",
                "-c",
                f"source {state}\n{command}\ncode=$?; export -p >{state}; echo cd $PWD >>{state}; exit $code",
            ],
            cwd=self.folder,
            env={
                **os.environ,
                "LONGHAUL_HOME": str(self.home),
                "LONGHAUL_CACHE": str(load_settings().cache),
                **self.warm,
                "COLUMNS": "100",
                **self.environment,
            },
            stdin=subprocess.DEVNULL,
            pass_fds=[self.socket],
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def save(self, block: Block) -> None:
        """Write a file that a page shows, under the name in its first line."""
        if named := _KEPT.match(block.lines[0]) if block.lines else None:
            file = self.folder / named[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(block.lines) + "\n")

    def filled_in(self, command: str) -> str:
        if not re.search(r"\bRUN\b", command):
            return command
        newest = json.loads(longhaul("list", "runs", "--json", "--limit", "1", home=self.home).stdout)
        return re.sub(r"\bRUN\b", newest[0]["id"], command)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one run, for pages that refer to any run; all pages share it, so that none repeats a kept run."""
    made = tmp_path_factory.mktemp("home")
    done = longhaul("run", "quick", home=made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.mark.parametrize(
    ("page", "code"), [pytest.param(page, code, id=str(page.relative_to(REPOSITORY))) for page, code in of_pages()]
)
def test_a_page_can_be_followed(
    page: Path, code: list[Block], tmp_path: Path, home: Path, request: pytest.FixtureRequest
) -> None:
    environment = {}
    if "$SERVER" in page.read_text():
        running: Service = request.getfixturevalue("service")
        environment = {"SERVER": running.url, "TOKEN": running.tokens["run"]}
    terminal = Terminal(tmp_path / "folder", home, **environment)
    notebook = ""
    for block in code:
        if block.language == "yaml":
            terminal.save(block)
        elif block.language == "python":
            notebook += "\n".join(block.lines) + "\n"
            (terminal.folder / ".notebook.py").write_text(notebook)
        for command, shown in block.steps():
            text = terminal.run(terminal.filled_in(command))
            if shown.strip():
                assert _SAME.check_output(f"{shown.strip()}\n", f"{text.strip()}\n", _HOW), f"{block} {command}\n{text}"
    if notebook:
        terminal.run("python .notebook.py")
