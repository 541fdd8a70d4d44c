"""The common shell of pages: one file, whose policy forbids the browser to load anything, light or dark by the reader's preference."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template


def html_page(title: str, style: str, body: str, *, scripts: bool = False) -> str:
    """The page with this CSS and this body, which is already markup."""
    return Template(asset(__package__, "html_shell.html")).substitute(
        title=escape(title),
        style=style,
        scripts="script-src 'unsafe-inline';" if scripts else "",
        body=body,
    )


def asset(package: str, name: str) -> str:
    """The text of a file that lies in a package."""
    return files(package).joinpath(name).read_text("utf-8")
