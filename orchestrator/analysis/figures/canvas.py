"""What all figures share: colours, style, key, and the conversion to SVG or PNG.

Same data, same bytes: no date, no version, no random names inside. Text of users is drawn literally, never as a formula.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.system.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# An offset, and the alternating lengths of strokes and gaps.
Dashes = tuple[float, tuple[float, ...]]

INK, FAINT, RULE = "#1c2024", "#5b6570", "#dde1e6"
# Distinguishable by every kind of colour vision, and in print; the queue is drawn in ink, as it belongs to no flow.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f6a00")
SOLID: Dashes = (0, ())
DASHES: tuple[Dashes, ...] = (SOLID, (0, (7, 3)), (0, (2, 3)), (0, (8, 3, 2, 3)))
MARKERS = "osD^vP*X"

# The key's label of a paper's numbers, which come last.
PUBLISHED = "published"
# That of the line of runs beside published ones.
MEASURED = "measured"
# Letters of a line of the key, with room for the strokes.
_KEY_LETTERS = 84
_DPI = 130

_STYLE: Any = {
    "svg.hashsalt": "longhaul",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "path.simplify": False,
}


def style() -> AbstractContextManager[None]:
    """The style, while a figure is drawn."""
    need("figures")
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), dpi=_DPI, layout="constrained")


def to_file(figure: Figure, ending: str, *, background: str = "white") -> bytes:
    """The content of a file with this ending, svg or png."""
    page = io.BytesIO()
    nothing = {"Date": None, "Creator": None} if ending == "svg" else {"Software": None}
    figure.savefig(page, format=ending, metadata=nothing, facecolor=background)
    return page.getvalue()


def line_style(index: int) -> tuple[str, Dashes, str]:
    """Colour, dashes and marker of one of several lines."""
    return PALETTE[index % len(PALETTE)], DASHES[index // len(PALETTE) % len(DASHES)], MARKERS[index % len(MARKERS)]


def key_above(figure: Figure, plots: Sequence[Axes]) -> None:
    """The key above the drawing: every line once, from its first plot."""
    found = {label: handle for plot in plots for handle, label in zip(*plot.get_legend_handles_labels(), strict=True)}
    if found:
        # Measured values first, in any order of drawing.
        found |= {label: found.pop(label) for label in list(found) if label.partition(":")[0] == PUBLISHED}
        columns = max(1, min(6, int(_KEY_LETTERS / (max(map(len, found)) + 8))))
        figure.legend(found.values(), found.keys(), loc="outside upper left", ncols=columns, frameon=False, fontsize=8)
