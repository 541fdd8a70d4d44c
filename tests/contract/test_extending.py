"""The recipes of docs/extending.md: there is one for each thing, short, with places that exist; executed by tests/guest/commands/test_extending.py."""

from __future__ import annotations

import re

import pytest

from tests.support.extending import Example, examples, recipes
from tests.support.folders import REPOSITORY

_THINGS = (
    *("measure", "congestion control", "queue", "traffic kind", "topology"),
    *("backend", "verb", "route", "page", "paper"),
)
_MOST_LINES, _MOST_PLACES = 10, 3
RECIPES = recipes()
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")


def prose(recipe: str) -> list[str]:
    """Its lines without examples and without marks for tests."""
    text = re.sub(r"(?ms)^```.*?^```$", "", recipe)
    return [line for line in text.splitlines() if line.strip() and not line.startswith("<!--")]


def places(recipe: str) -> list[str]:
    """The files that the recipe lists for changes, in order."""
    return re.findall(r"^\d\. `([^`]+)`: ", recipe, re.MULTILINE)


def shown(recipe: str) -> list[str]:
    """The files of its examples, each once."""
    return list(dict.fromkeys(re.findall(r"^```\w+\n(?:#|//) ([\w./-]+)", recipe, re.MULTILINE)))


def test_every_thing_has_one_recipe() -> None:
    assert list(RECIPES) == [f"A {thing}" for thing in _THINGS]


@pytest.mark.parametrize("title", RECIPES)
def test_it_is_short_and_names_the_folder_of_its_test(title: str) -> None:
    lines = prose(RECIPES[title])
    assert len(lines) <= _MOST_LINES
    (folders,) = re.findall(r"Tests: (.+)", "\n".join(lines).replace("\n", " "))
    assert any(path.startswith("tests/") for path in _PATH.findall(folders))


@pytest.mark.parametrize("title", RECIPES)
def test_it_touches_few_places_and_shows_each(title: str) -> None:
    recipe = RECIPES[title]
    touched = places(recipe)
    assert 1 <= len(touched) <= _MOST_PLACES
    needed = [file for file in touched if f"`{file}`: only if " not in recipe]
    assert shown(recipe) == needed


@pytest.mark.parametrize("title", RECIPES)
def test_files_that_it_names_exist(title: str) -> None:
    made = {example.file for example in examples() if example.after is None}
    for path in _PATH.findall("\n".join(prose(RECIPES[title]))):
        assert path in made or (REPOSITORY / path).exists(), path


@pytest.mark.parametrize("example", [one for one in examples() if one.after], ids=lambda one: f"{one.file} {one.after}")
def test_an_example_follows_an_existing_line(example: Example) -> None:
    lines = [line.strip() for line in (REPOSITORY / example.file).read_text().splitlines()]
    assert example.after in lines
