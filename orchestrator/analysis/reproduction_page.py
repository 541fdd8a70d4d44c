"""A paper's reproduction as one HTML page: verdicts, figures over the paper's axes with their numbers as CSV, and the plans.

Every text is escaped, and the page's policy forbids the browser to load or run anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import quote

from orchestrator.analysis.published_figure import draw_published, figure_readings, readings_csv
from orchestrator.analysis.reproduction import HEADER, outcome, verdict_line
from orchestrator.analysis.verdicts import AGREES, DIFFERS, Verdict
from orchestrator.papers import Figure, Paper


@dataclass(frozen=True, slots=True)
class Measured:
    """What a page shows of an experiment: its documents, how repeats are summed up, the words of `longhaul plan`."""

    documents: Sequence[dict[str, Any]]
    aggregate: str
    plan: str


def reproduction_page(
    paper: Paper, figures: Sequence[Figure], verdicts: Sequence[Verdict], measured: Mapping[str, Measured], *, how: str
) -> str:
    """The page of these figures of a paper."""
    sections = [
        _section(figure, [one for one in verdicts if one.figure == figure.name], measured) for figure in figures
    ]
    folder = files("orchestrator.analysis")
    return Template(folder.joinpath("reproduction.html").read_text("utf-8")).substitute(
        title=escape(paper.paper),
        style=folder.joinpath("report.css").read_text("utf-8"),
        citation=escape(paper.citation),
        about=escape(paper.about),
        how=escape(f"{how} {verdict_line(verdicts)}."),
        sections="\n".join(sections),
    )


def _section(figure: Figure, verdicts: Sequence[Verdict], measured: Mapping[str, Measured]) -> str:
    rows = "".join(_row(one) for one in verdicts)
    head = "".join(f"<th>{escape(column)}</th>" for column in HEADER)
    parts = [
        f'<section id="{escape(figure.name)}"><h2>{escape(figure.name)}</h2><p class="about">{escape(figure.about)}</p>',
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>',
        *(f'<p class="help">{escape(one.claim)}: {escape(one.why)}.</p>' for one in verdicts if one.why),
    ]
    for use in figure.uses:
        one = measured[use.experiment]
        readings = figure_readings(figure.axes, one.documents, one.aggregate)
        name = use.experiment.replace("/", "-")
        if readings:
            csv = f"data:text/csv;charset=utf-8,{quote(readings_csv(figure.axes, readings))}"
            parts.append(
                f"<figure>{draw_published(figure.axes, readings)}<figcaption>"
                f'<a download="{escape(name)}.csv" href="{csv}">the numbers as CSV</a></figcaption></figure>'
            )
        parts.append(
            f"<details><summary>Plan of {escape(use.experiment)}</summary><pre>{escape(one.plan)}</pre></details>"
        )
    return "\n".join([*parts, "</section>"])


def _row(verdict: Verdict) -> str:
    kind = {AGREES: "good", DIFFERS: "bad"}.get(verdict.verdict, "help")
    return (
        f"<tr><td>{escape(verdict.claim)}: {escape(verdict.words)}</td><td>{escape(verdict.published)}</td>"
        f'<td>{escape(verdict.measured)}</td><td><span class="{kind}">{escape(outcome(verdict))}</span></td>'
        f"<td>{'yes' if verdict.gate else ''}</td></tr>"
    )
