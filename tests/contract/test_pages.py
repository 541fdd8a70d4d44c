"""The commands in the documentation exist, and so do the targets of its links."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from longhaul.cli.main import app
from longhaul.orchestrator.spec.load import load_experiment
from tests.support.folders import REPOSITORY
from tests.support.pages import NOT_RUN, PAGES, Block, blocks, words_of_longhaul
from tests.support.programs import run_program

ROOT = get_command(app)
STARTING = REPOSITORY / "longhaul" / "cli" / "machine" / "new_module_files" / "tcp_newcc.c"
BLOCKS = [block for page in PAGES for block in blocks(page)]


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def parse(command: Any, words: list[str]) -> None:
    """Parse as the command line does, without running the command."""
    context = command.make_context("longhaul", words)
    if isinstance(command, TyperGroup):
        verb, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, verb
        parse(found, rest)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_shown_command_is_valid(page: Path) -> None:
    for block in blocks(page):
        for command, _ in block.steps():
            for words in words_of_longhaul(command):
                try:
                    parse(ROOT, words)
                except Exception as error:
                    pytest.fail(f"{block} {command}: {error}")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_in_the_text_belong_to_their_verb(page: Path) -> None:
    for inline in re.findall(r"`longhaul ([^`\n]+)`", page.read_text()):
        command: Any = ROOT
        words = inline.split()
        while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
            command = command.commands.get(words.pop(0).split("|")[0])
        if command is None:
            assert inline.startswith("<"), inline
            continue
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        passed_on = command.context_settings.get("ignore_unknown_options", False)
        for option in re.findall(r"(?<=\s)--[a-z-]+", f" {' '.join(words)}"):
            assert option in known | {"--help", "--version"} or passed_on, inline


def test_every_make_target_that_is_shown_exists() -> None:
    shown = {
        words.split()[1]
        for block in BLOCKS
        for command, _ in block.steps()
        for words in re.split(" && | & +", command)
        if words.startswith("make ") and not words.startswith("make -C")
    }
    for target in sorted(shown):
        done = run_program(["make", "-n", "-o", ".venv/.stamp", target], cwd=REPOSITORY)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "yaml"], ids=str)
def test_yaml_blocks_are_valid(block: Block, tmp_path: Path) -> None:
    text = "\n".join(block.lines)
    written = yaml.safe_load(text)
    if isinstance(written, dict) and {"experiment", "flows"} <= set(written):
        # The module is the reader's: replace it by an existing one.
        for folder in written.get("modules", []):
            (tmp_path / "page" / folder).mkdir(parents=True)
            (tmp_path / "page" / folder / "tcp_mine.c").write_text(STARTING.read_text().replace("newcc", "mine"))
        (tmp_path / "page").mkdir(exist_ok=True)
        file = tmp_path / "page" / "experiment.yaml"
        file.write_text(text)
        load_experiment(str(file))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_link_is_dead(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(page)):
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place), f"{target}#{anchor}"
    for picture in re.findall(r'(?:src|srcset)="([^"]+)"', prose(page)):
        assert (page.parent / picture).exists(), picture


def prose(page: Path) -> str:
    return re.sub(r"(?ms)^```.*?^```$", "", page.read_text())


def anchors(page: Path) -> set[str]:
    """GitHub's anchors of a page's headings."""
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"(?m)^#+ (.+)$", prose(page))
    }


@pytest.mark.parametrize(("page", "beginning"), [(page, one) for page, listed in NOT_RUN.items() for one in listed])
def test_every_block_that_is_not_run_exists(page: str, beginning: str) -> None:
    """An entry for no block of commands would hide a block that a page gets later; a test that is named must exist."""
    found = [
        block for block in blocks(REPOSITORY / page) if any(line.startswith(beginning) for line in block.lines[:1])
    ]
    assert found, f"{page} has no block that begins with {beginning}"
    for block in found:
        assert block.language == "python" or any(block.steps()), block
        assert not block.done_by or (REPOSITORY / block.done_by).is_file(), block.done_by


def test_every_page_is_found_from_the_first() -> None:
    found, ahead = set(), [REPOSITORY / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        ahead += [
            (page.parent / target).resolve()
            for target in re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", prose(page))
        ]
    assert {name(page) for page in PAGES} - {name(page) for page in found} - {"CONTRIBUTING.md"} == set()


def test_the_index_lists_every_page() -> None:
    index = REPOSITORY / "docs" / "README.md"
    listed = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose(index))}
    notebooks = set((REPOSITORY / "docs").glob("*.ipynb"))
    assert {name(page) for page in {*PAGES, *notebooks} - {index} - listed} == set()


def test_paths_in_the_architecture_exist() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    for named in set(re.findall(r"\b(?:orchestrator|kmod|api|dashboards)/[\w/.-]*\w/?", text)):
        assert (REPOSITORY / named.rstrip("/")).exists(), named


def test_the_architecture_draws_the_tree_as_it_is_and_in_the_order_of_the_contract() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    drawn, above = [], [""]
    for indent, folder in re.findall(
        r"^    ( *)(\w+)/  +\S", text.partition("## The tree")[2].partition("Other folders")[0], re.MULTILINE
    ):
        above[len(indent) // 2 :] = [folder]
        drawn.append("/".join(above))
    tops = [REPOSITORY / name for name in ("longhaul", "api", "orchestrator", "topologies")]
    packages = {
        init.parent.relative_to(REPOSITORY).as_posix()
        for top in tops
        for init in top.rglob("__init__.py")
        if "migrations" not in init.parts and not (top.name == "longhaul" and init.parent.parent.is_symlink())
    }
    assert set(drawn) == {package for package in packages if not REPOSITORY.joinpath(package).is_symlink()}
    (contract, *_) = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [name.replace(".", "/") for layer in contract["layers"] for name in re.split(r" [|:] ", layer)]
    assert [room for room in drawn if f"longhaul/{room}" in layers] == [
        name.removeprefix("longhaul/")
        for name in layers
        if name.removeprefix("longhaul/") in drawn and name != "longhaul/cli"
    ]
