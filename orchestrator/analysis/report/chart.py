"""The terminal chart of a run: one strip a panel, drawn with braille dots, or with a letter a series without colour.

    cwnd, packets
      412 |⢠⠒⠤⡀          ⣀⠤⠒⠊
          |⡜   ⠉⠒⠢⠤⠤⠔⠒⠊⠉
        0 |
           0 s                 60 s
           a cubic   b htcp

Each dot column shows the whole range of the values that fall into it, so no spike is lost to the terminal's width.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.text import Text

from longhaul.orchestrator.analysis.panels import Panel, Series, run_panels
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.trace.records import Trace

# The rows of dots of a strip.
ROWS = 7
_DOTS_ACROSS, _DOTS_DOWN = 2, 4
_BRAILLE = 0x2800
# Bit of the dot at (row, column) inside a braille cell.
_DOT_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_COLOURS = ("dodger_blue2", "orange1", "green3", "magenta", "cyan", "yellow", "red", "white")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# More series than this on one strip are unreadable: the first ones are drawn, the others counted.
_MOST_SERIES = 8
_AXIS_WIDTH = 9


def run_charts(run: Run, trace: Trace, width: int, *, colour: bool) -> Text:
    """All panels of a run, one below the other."""
    return panel_charts(run_panels(run, trace), run.duration_us / 1e6, width, colour=colour)


def panel_charts(panels: Sequence[Panel], end_s: float, width: int, *, colour: bool, rows: int = ROWS) -> Text:
    """These panels one below the other, from 0 to `end_s`, each with this many rows of dots."""
    return Text("\n").join(_strip(panel, end_s, width, rows, colour) for panel in panels if panel.series)


def _strip(panel: Panel, end_s: float, width: int, rows: int, colour: bool) -> Text:
    shown = panel.series[:_MOST_SERIES]
    top = max((float(series.y.max()) for series in shown if len(series.y)), default=0.0) or 1.0
    columns = max(20, width - _AXIS_WIDTH - 2)
    cells = _draw(shown, end_s, top, columns, rows)
    text = Text(f"{panel.title}, {panel.unit}\n")
    for row in range(rows):
        label = _short(top) if row == 0 else "0" if row == rows - 1 else ""
        text.append(f"{label:>{_AXIS_WIDTH}} |")
        for column in range(columns):
            text.append(*_glyph(cells.get((row, column)), colour))
        text.append("\n")
    end = f"{end_s:g} s"
    text.append(" " * (_AXIS_WIDTH + 2) + "0 s" + end.rjust(columns - 3) + "\n")
    text.append(" " * (_AXIS_WIDTH + 2))
    for index, series in enumerate(shown):
        text.append(f"{_LETTERS[index]} {series.label}   ", style=_COLOURS[index] if colour else "")
    if len(panel.series) > len(shown):
        text.append(f"and {len(panel.series) - len(shown)} more")
    text.append("\n")
    return text


# (row, column) of a cell -> its dots, and which series drew there last.
Cells = dict[tuple[int, int], tuple[int, int]]


def _draw(shown: Sequence[Series], end_s: float, top: float, columns: int, rows: int) -> Cells:
    cells: Cells = {}
    height = rows * _DOTS_DOWN
    for index, series in enumerate(shown):
        for x, (low, high) in _ranges(series, end_s, columns * _DOTS_ACROSS):
            first, last = (min(height - 1, int((1 - value / top) * (height - 1) + 0.5)) for value in (high, low))
            for y in range(first, last + 1):
                cell = y // _DOTS_DOWN, x // _DOTS_ACROSS
                dots, _ = cells.get(cell, (0, index))
                cells[cell] = dots | _DOT_BITS[y % _DOTS_DOWN][x % _DOTS_ACROSS], index
    return cells


def _ranges(series: Series, end_s: float, columns: int) -> list[tuple[int, tuple[float, float]]]:
    """Dot column -> least and greatest value in it; a column without a value continues the previous one."""
    if not len(series.x_s) or end_s <= 0:
        return []
    place: Floats = np.clip(series.x_s / end_s * columns, 0, columns - 1)
    at = place.astype(np.int64)
    found: list[tuple[int, tuple[float, float]]] = []
    last = float(series.y[0])
    for x in range(int(at[0]), int(at[-1]) + 1):
        inside = series.y[np.searchsorted(at, x) : np.searchsorted(at, x, side="right")]
        if len(inside):
            # From the line's previous value: a step is drawn as a step.
            found.append((x, (min(last, float(inside.min())), max(last, float(inside.max())))))
            last = float(inside[-1])
        else:
            found.append((x, (last, last)))
    return found


def _glyph(cell: tuple[int, int] | None, colour: bool) -> tuple[str, str]:
    if cell is None:
        return " ", ""
    dots, index = cell
    return (chr(_BRAILLE + dots), _COLOURS[index]) if colour else (_LETTERS[index], "")


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
