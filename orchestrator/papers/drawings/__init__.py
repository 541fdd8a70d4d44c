"""The charts of a published figure, drawn from runs: vector graphics, and the numbers behind each as a table.

    draw(picture, measured, claims, points) -> Drawn        by the chart's kind, one module each

Points whose runs failed are left out; whiskers are the 95 % intervals of the repeats. Same runs, same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.papers.claims import Claim
from longhaul.orchestrator.papers.drawings.curves import draw_curves
from longhaul.orchestrator.papers.drawings.distribution import draw_distribution
from longhaul.orchestrator.papers.drawings.drawn import Drawn, Measured
from longhaul.orchestrator.papers.drawings.groups import draw_groups
from longhaul.orchestrator.papers.drawings.maps import draw_map
from longhaul.orchestrator.papers.drawings.over_time import draw_over_time
from longhaul.orchestrator.papers.figure_specs import Picture

__all__ = ["Drawn", "Measured", "draw"]

_DRAW: Mapping[str, Callable[[Any, Measured, Sequence[Claim], int], Drawn | None]] = {
    "curves": lambda picture, measured, claims, _: draw_curves(picture, measured, claims),
    "groups": lambda picture, measured, claims, _: draw_groups(picture, measured, claims),
    "map": lambda picture, measured, _, __: draw_map(picture, measured),
    "series": lambda picture, measured, _, points: draw_over_time(picture, measured, points),
    "cdf": lambda picture, measured, _, points: draw_distribution(picture, measured, points),
}


def draw(picture: Picture, measured: Measured, claims: Sequence[Claim], points: int) -> Drawn | None:
    """The chart, with at most about this many points in a line; None without measured points."""
    return _DRAW[picture.kind](picture, measured, claims, points)
