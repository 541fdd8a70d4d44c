"""A paper's reproduction as a Markdown page: what was published, what was measured, the verdict, and why where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhaul.orchestrator.papers.load import Figure, Paper
from longhaul.orchestrator.papers.verdicts import AGREES, DIFFERS, NOT_CHECKABLE, Verdict

# One of a verdict, and several.
_WORDS = {
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
        told = [one for one in verdicts if one.figure == figure.name]
        yield f"## {figure.name}\n"
        yield f"{figure.about}. Carried out by {', '.join(f'`{use.experiment}`' for use in figure.uses)}.\n"
        if told:
            yield from _table(told)
        yield ""


def _table(told: Sequence[Verdict]) -> Iterator[str]:
    yield f"| {' | '.join(HEADER)} |"
    yield "|---" * len(HEADER) + "|"
    for one in told:
        cells = (f"{one.claim}: {one.words}", one.published, one.measured, outcome(one), "yes" if one.gate else "")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    for one in told:
        if one.why:
            yield f"\n{one.claim}: {one.why}."


def outcome(verdict: Verdict) -> str:
    """The verdict in words, with how far beyond its tolerance it is."""
    return f"{verdict.verdict} by {100 * verdict.off:.1f} %" if verdict.off else verdict.verdict


def counted(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Each verdict that there is, and how many of it, in words."""
    counts = {word: sum(one.verdict == word for one in verdicts) for word in _WORDS}
    return [(word, f"{count} {_WORDS[word][count != 1]}") for word, count in counts.items() if count]


def verdict_line(verdicts: Sequence[Verdict]) -> str:
    """How many of each verdict, and how many of those that gate differ."""
    if not verdicts:
        return "Nothing is claimed"
    gating, failing = sum(one.gate for one in verdicts), sum(one.fails for one in verdicts)
    told = ", ".join(text for _, text in counted(verdicts))
    if not gating:
        return f"{told}; none gates"
    gates = "the one that gates" if gating == 1 else f"the {gating} that gate"
    return f"{told}; of {gates}, {failing or 'none'} {_WORDS[DIFFERS][failing > 1]}"
