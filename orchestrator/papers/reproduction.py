"""A paper's reproduction as a Markdown page: published and measured values, the verdicts, and the reasons for differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhaul.orchestrator.papers.load import Figure, Paper
from longhaul.orchestrator.papers.verdicts import AGREES, DIFFERS, NOT_CHECKABLE, Verdict

# The text for one claim with a verdict, and for several.
_COUNT_TEXTS = {
    AGREES: ("agrees", "agree"),
    DIFFERS: ("differs", "differ"),
    NOT_CHECKABLE: ("is not checkable", "are not checkable"),
}

HEADER = ("claim", "published", "measured", "verdict", "gates")


def markdown(paper: Paper, figures: Sequence[Figure], verdicts: Sequence[Verdict], *, how: str) -> str:
    """The page of a paper."""
    return "\n".join(_lines(paper, figures, verdicts, how=how)) + "\n"


def _lines(paper: Paper, figures: Sequence[Figure], verdicts: Sequence[Verdict], *, how: str) -> Iterator[str]:
    yield f"# {paper.paper}\n"
    yield f"{paper.citation}\n"
    yield f"{paper.about}\n"
    yield f"{how} {verdict_line(verdicts)}.\n"
    for figure in figures:
        of_figure = [one for one in verdicts if one.figure == figure.name]
        yield f"## {figure.name}\n"
        yield f"{figure.about}. Experiments: {', '.join(f'`{use.experiment}`' for use in figure.uses)}.\n"
        if of_figure:
            yield from _table(of_figure)
        yield ""


def _table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield f"| {' | '.join(HEADER)} |"
    yield "|---" * len(HEADER) + "|"
    for one in verdicts:
        cells = (f"{one.claim}: {one.words}", one.published, one.measured, outcome(one), "yes" if one.gate else "")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    for one in verdicts:
        if one.why:
            yield f"\n{one.claim}: {one.why}."


def outcome(verdict: Verdict) -> str:
    """The verdict as text, with its distance beyond the tolerance."""
    return f"{verdict.verdict} by {100 * verdict.off:.1f} %" if verdict.off else verdict.verdict


def counted(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Each verdict that occurs, and its count, as text."""
    counts = {name: sum(one.verdict == name for one in verdicts) for name in _COUNT_TEXTS}
    return [(name, f"{count} {_COUNT_TEXTS[name][count != 1]}") for name, count in counts.items() if count]


def verdict_line(verdicts: Sequence[Verdict]) -> str:
    """The count of each verdict, and of the gating claims that differ."""
    if not verdicts:
        return "No claims"
    gating, failing = sum(one.gate for one in verdicts), sum(one.fails for one in verdicts)
    text = ", ".join(text for _, text in counted(verdicts))
    if not gating:
        return f"{text}; none gates"
    gates = "the one that gates" if gating == 1 else f"the {gating} that gate"
    return f"{text}; of {gates}, {failing or 'none'} {_COUNT_TEXTS[DIFFERS][failing > 1]}"
