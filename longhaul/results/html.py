"""HTML for notebooks: tables and charts that need no script and load nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from longhaul.results.tables import TEXT_COLUMNS, Row


def table_html(rows: Sequence[Row], caption: str = "") -> str:
    """Rows of text as a table."""
    if not rows:
        return lines_html([caption]) if caption else ""
    aligned = {name: "left" if name in TEXT_COLUMNS else "right" for name in rows[0]}
    heads = "".join(f'<th style="text-align:{side}">{escape(name)}</th>' for name, side in aligned.items())
    lines = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:{aligned[name]}">{escape(cell)}</td>' for name, cell in row.items())
        + "</tr>"
        for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def lines_html(lines: Sequence[str]) -> str:
    """Sentences, a line each."""
    return "".join(f"<div>{escape(line)}</div>" for line in lines)


def image_html(svg: bytes, description: str) -> str:
    """A chart as an image, so that its ids cannot collide with those of another chart in the notebook."""
    image = base64.b64encode(svg).decode()
    return f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{image}">'
