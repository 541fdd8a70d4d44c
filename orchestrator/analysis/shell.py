"""What all pages share: one file, whose policy forbids the browser to load anything, light or dark by the reader's preference."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template


def html_page(title: str, styles: tuple[str, ...], body: str, *, scripts: bool = False) -> str:
    """The page with this body, which is markup already; `styles` names files that lie beside this one."""
    return Template(part("shell.html")).substitute(
        title=escape(title),
        style="".join(map(part, styles)),
        scripts="script-src 'unsafe-inline';" if scripts else "",
        body=body,
    )


def part(name: str) -> str:
    """A file that lies beside this one."""
    return files("orchestrator.analysis").joinpath(name).read_text("utf-8")
