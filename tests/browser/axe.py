"""Breaches of WCAG 2.2 A and AA and of best practices that axe-core finds in a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parents[2] / "dashboards/web/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN_AXE = """async (only) => {
    const found = await axe.run(document, { runOnly: only, resultTypes: ["violations"] });
    return found.violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map((node) => node.html.slice(0, 160)) }));
}"""


def breaches(page: Page, *rules: str) -> list[Any]:
    """Breaches of these rules, or of all."""
    if not page.evaluate("'axe' in window"):
        # Not as a script of the page, because its policy allows only its own scripts.
        page.evaluate(f"{AXE.read_text()}; undefined")
    return list(page.evaluate(RUN_AXE, list(rules or RULES)))
