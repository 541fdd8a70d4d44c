"""A paper's reproduction as a Markdown page: what was published, what was measured, the verdict, and why where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.analysis.verdicts import Verdict
from orchestrator.papers import Figure, Paper

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
        yield f"| {' | '.join(HEADER)} |"
        yield "|---" * len(HEADER) + "|"
        for one in told:
            cells = (
                f"{one.claim}: {one.words}",
                one.published,
                one.measured,
                outcome(one),
                "yes" if one.gate else "",
            )
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for one in told:
            if one.why:
                yield f"\n{one.claim}: {one.why}."
        yield ""


def outcome(verdict: Verdict) -> str:
    """The verdict in words, with how far beyond its tolerance it is."""
    return f"{verdict.verdict} by {100 * verdict.off:.1f} %" if verdict.off else verdict.verdict


def verdict_line(verdicts: Sequence[Verdict]) -> str:
    """How many of each verdict, and how many of those that gate differ."""
    words = dict.fromkeys(one.verdict for one in verdicts)
    counts = ", ".join(f"{sum(one.verdict == word for one in verdicts)} {word}" for word in words)
    return f"{counts}; of {sum(one.gate for one in verdicts)} that gate, {sum(one.fails for one in verdicts)} differ"
