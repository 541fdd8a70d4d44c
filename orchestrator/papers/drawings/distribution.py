"""A distribution as the share of values that are not larger, a curve a value of a field: of flows and repeats, or of round trips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from longhaul.orchestrator.analysis.figures.canvas import key_above, line_style, new_figure, style
from longhaul.orchestrator.analysis.series import Floats, round_trips_ms
from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.papers.claims import selects
from longhaul.orchestrator.papers.drawings.axes import WIDTH_IN, to_plate
from longhaul.orchestrator.papers.drawings.drawn import Cell, Drawn, Measured, Table, scale_of
from longhaul.orchestrator.papers.figure_specs import Cdf, short_name
from longhaul.orchestrator.plan.run_document import RunDocument

_HEIGHT_IN = 3.4


def draw_distribution(picture: Cdf, measured: Measured, points: int) -> Drawn | None:
    """The chart; None without measured points."""
    values: dict[str, list[Floats]] = {}
    for document in measured.documents:
        if document["status"] != "failed" and selects(picture.at, document["point"]):
            curve = document["point"].get(picture.curves, "") if picture.curves else ""
            values.setdefault(curve, []).append(_values(picture, document, measured))
    curves = {name: np.sort(np.concatenate(found)) for name, found in values.items()}
    curves = {name: found for name, found in curves.items() if len(found)}
    if not curves:
        return None
    scale = scale_of(picture.measure) if picture.measure else 1.0
    steps = {name: _steps(found, points) for name, found in curves.items()}
    with style():
        figure = new_figure(WIDTH_IN, _HEIGHT_IN)
        canvas = figure.subplots()
        for index, (name, (at, share)) in enumerate(steps.items()):
            colour, dashes, _ = line_style(index)
            # A curve begins on the axis: no value is smaller than the least.
            canvas.step(
                np.append(at[:1], at) * scale, np.append(0.0, share), where="post", color=colour, linestyle=dashes,
                linewidth=1.2, label=short_name(name) or "_",
            )  # fmt: skip
        canvas.set_ylim(0, 1.02)
        canvas.set_xlabel(picture.label)
        canvas.set_ylabel("share of values not larger")
        key_above(figure, [canvas])
        plate = to_plate(figure, f"distribution of {picture.label}")
    rows: list[list[Cell]] = [
        [name, float(value), float(share), len(curves[name])]
        for name, (at, shares) in steps.items()
        for value, share in zip(at, shares, strict=True)
    ]
    return Drawn([plate], Table([picture.curves or "curve", picture.measure or "rtt_ms", "share", "n"], rows))


def _values(picture: Cdf, document: RunDocument, measured: Measured) -> Floats:
    names = [flow["name"] for flow in document["flows"] if not picture.flows or flow["name"] in picture.flows]
    if picture.measure is None:
        return np.concatenate([np.empty(0), *_round_trips(document, names, measured)])
    whose: Sequence[str | None] = names if picture.of_flows else [None]
    found = [value_of(document, picture.measure, flow) for flow in whose]
    return np.array([value for value in found if value is not None], dtype=float)


def _round_trips(document: RunDocument, names: Sequence[str], measured: Measured) -> Iterator[Floats]:
    """Milliseconds of the ACKs in the window, as the measures of round trips use them."""
    run, trace = measured.kept(document)
    for flow in run.flows:
        if flow.name in names:
            yield round_trips_ms(run, trace, flow)


def _steps(values: Floats, points: int) -> tuple[Floats, Floats]:
    """The positions and heights of the curve's steps; of many values, this many, with the least and the largest."""
    count = len(values)
    ranks = np.unique(np.linspace(0, count - 1, min(count, points)).round().astype(np.int64))
    return values[ranks], (ranks + 1) / count
