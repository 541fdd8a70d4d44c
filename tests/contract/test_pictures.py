"""Pictures of the web page: each one shown in the documentation exists, none is unused, and none is large."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "docs/pictures/web"
_MOST_BYTES = 150_000


def test_pictures_are_those_that_are_shown() -> None:
    shown = set()
    for page in (REPOSITORY / "docs/web.md", REPOSITORY / "README.md"):
        shown |= set(re.findall(r"pictures/web/([a-z-]+\.png)", page.read_text()))
    there = {file.name for file in FOLDER.iterdir()}
    assert shown - there == set(), "make pictures"
    # In both themes, at a desk and on a phone, whichever of them is shown.
    views = {re.sub(r"-(desk|phone)-(light|dark)\.png$", "", name) for name in shown}
    wanted = {
        f"{view}-{place}-{theme}.png" for view in views for place in ("desk", "phone") for theme in ("light", "dark")
    }
    assert there == wanted


def test_pictures_are_small() -> None:
    assert {file.name: size for file in FOLDER.iterdir() if (size := file.stat().st_size) > _MOST_BYTES} == {}
