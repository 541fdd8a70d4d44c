"""A paper's reproduction as one HTML page: verdicts, charts over the paper's axes with their numbers as CSV and Parquet, and the plans.

Every text is escaped, and the page's policy forbids the browser to load or run anything.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from string import Template
from urllib.parse import quote

from longhaul.orchestrator.analysis import report
from longhaul.orchestrator.analysis.report.html_shell import asset, html_page
from longhaul.orchestrator.papers.drawings import Drawn, Measured, draw
from longhaul.orchestrator.papers.load import Figure, Paper, experiment_name
from longhaul.orchestrator.papers.reproduction import HEADER, counted, outcome, verdict_line
from longhaul.orchestrator.papers.verdicts import AGREES, DIFFERS, Verdict

# A page above this is slow to open; lines over time then get fewer points, down to the least number that still shows their course.
LARGEST_BYTES = 3_000_000
_POINTS = (600, 300, 150, 75)
_KINDS = {AGREES: ("good", "✓"), DIFFERS: ("bad", "✗")}


def reproduction_page(
    paper: Paper, figures: Sequence[Figure], verdicts: Sequence[Verdict], measured: Mapping[str, Measured], *, how: str
) -> str:
    """The page of these figures of a paper."""
    page = ""
    for points in _POINTS:
        page = _page(paper, figures, verdicts, measured, how, points)
        if len(page.encode()) <= LARGEST_BYTES:
            break
    return page


def _page(
    paper: Paper,
    figures: Sequence[Figure],
    verdicts: Sequence[Verdict],
    measured: Mapping[str, Measured],
    how: str,
    points: int,
) -> str:
    by_figure = {figure.name: [one for one in verdicts if one.figure == figure.name] for figure in figures}
    body = Template(asset(__package__, "reproduction.html")).substitute(
        title=escape(paper.paper),
        citation=_coded(paper.citation),
        about=_coded(paper.about),
        how=_coded(f"{how} {verdict_line(verdicts)}."),
        badges=_badges(verdicts),
        contents=_contents(figures, by_figure) if len(figures) > 1 else "",
        sections="\n".join(_section(paper, figure, by_figure[figure.name], measured, points) for figure in figures),
        plans=_plans(figures, measured),
    )
    return html_page(paper.paper, asset(report.__name__, "report.css") + asset(__package__, "reproduction.css"), body)


def _contents(figures: Sequence[Figure], by_figure: Mapping[str, Sequence[Verdict]]) -> str:
    lines = [
        f'<li><a href="#{escape(figure.name)}">{escape(figure.name)}</a><span>{_coded(figure.about)}</span>'
        f'<span class="badges">{_badges(by_figure[figure.name])}</span></li>'
        for figure in figures
    ]
    return f'<nav aria-label="Figures"><ol class="contents">{"".join(lines)}</ol></nav>'


def _badges(verdicts: Sequence[Verdict]) -> str:
    return "".join(_badge(word, text) for word, text in counted(verdicts))


def _badge(verdict: str, text: str) -> str:
    kind, mark = _KINDS.get(verdict, ("", "–"))
    return f'<span class="badge {kind}">{mark} {escape(text)}</span>'


def _section(
    paper: Paper, figure: Figure, verdicts: Sequence[Verdict], measured: Mapping[str, Measured], points: int
) -> str:
    drawn = list(_drawn(figure, measured, points))
    pictures = "".join(
        _picture(one, title, f"{paper.paper}-{figure.name}-{number}") for number, (title, one) in enumerate(drawn, 1)
    )
    layout = " one" if len(drawn) == 1 and verdicts and not drawn[0][1].wide else ""
    names = [use.experiment for use in figure.uses]
    links = ", ".join(f'<a href="#{_plan_id(name)}">{escape(name)}</a>' for name in names)
    return (
        f'<section id="{escape(figure.name)}"><h2>{escape(figure.name)}</h2><p class="about">{_coded(figure.about)}. <span class="carried">Experiments: {links}.</span></p>'
        f'<div class="beside{layout}"><div class="pictures">{pictures}</div>{_table(verdicts)}</div></section>'
    )


def _drawn(figure: Figure, measured: Mapping[str, Measured], points: int) -> Iterator[tuple[str, Drawn]]:
    for picture in figure.pictures:
        name = experiment_name(figure, picture)
        claims = [claim for claim in figure.claims if experiment_name(figure, claim) == name]
        drawn = draw(picture, measured[name], claims, points)
        if drawn is not None:
            yield picture.title, drawn


def _picture(drawn: Drawn, title: str, name: str) -> str:
    heading = f"<h3>{escape(title)}</h3>" if title else ""
    plates = "".join(
        f'<div class="plate" style="--need: {plate.width_px}px">{plate.svg}</div>' for plate in drawn.plates
    )
    csv = f"data:text/csv;charset=utf-8,{quote(drawn.table.as_csv(), safe=',:/()+')}"
    parquet = f"data:application/vnd.apache.parquet;base64,{base64.b64encode(drawn.table.as_parquet()).decode()}"
    links = (
        f'The numbers as <a download="{escape(name)}.csv" href="{csv}">CSV</a> or '
        f'<a download="{escape(name)}.parquet" href="{parquet}">Parquet</a>'
    )
    width = ' class="wide-picture"' if drawn.wide else ""
    return f'<figure{width}>{heading}<div class="plates">{plates}</div><figcaption>{links}</figcaption></figure>'


def _table(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in HEADER)
    rows = "".join(map(_rows, verdicts))
    return f'<div class="verdicts"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _rows(verdict: Verdict) -> str:
    cells = (
        f"<strong>{escape(verdict.claim)}</strong> {_coded(verdict.words)}",
        escape(verdict.published),
        escape(verdict.measured),
        _badge(verdict.verdict, outcome(verdict)),
        "yes" if verdict.gate else "",
    )
    row = "".join(
        f'<td data-head="{escape(head)}">{cell}</td>' if cell else "<td></td>"
        for head, cell in zip(HEADER, cells, strict=True)
    )
    if not verdict.why:
        return f"<tr>{row}</tr>"
    why = f'<tr class="why"><td colspan="{len(HEADER)}"><p>Why: {_coded(verdict.why)}.</p></td></tr>'
    return f'<tr class="explained">{row}</tr>{why}'


def _plans(figures: Sequence[Figure], measured: Mapping[str, Measured]) -> str:
    names = dict.fromkeys(use.experiment for figure in figures for use in figure.uses)
    return "".join(
        f'<details id="{_plan_id(name)}"><summary>Plan of {escape(name)}</summary><pre>{escape(measured[name].plan)}</pre></details>'
        for name in names
    )


def _plan_id(experiment: str) -> str:
    return f"plan-{escape(experiment.replace('/', '-'))}"


def _coded(text: str) -> str:
    """A text with its parts in backquotes as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
