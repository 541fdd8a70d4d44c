"""A picture of a graph, as text and as SVG: the first pair's path as a spine, all other nodes below the node they are linked to.

    a1 --- s1 ===[ 100 Mbit/s, 20 ms ]=== s2 --- b1
           |                              |
           a2                             b2

A double line has a rate, a wavy one is a shared channel. Numbers are the graph's: a topology's, or in a plan those of its
experiment. Neighbours that look alike are drawn once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from longhaul.orchestrator.spec.graph import Carriage, Graph, Lane
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate, format_share

_NUMBERED = re.compile(r"(.*?)([0-9]+)")

# SVG, in user units.
_LETTER, _LINE, _MARGIN, _GAP, _BOX = 7.3, 22, 16, 40, 28


@dataclass(frozen=True, slots=True)
class Hanging:
    """A node, or several that look alike, below another one; `label` is their link's."""

    name: str
    label: str
    depth: int


@dataclass(frozen=True, slots=True)
class Picture:
    """`lines` has the kind (-, = or ~) and the label of the link behind each node of the spine but the last."""

    spine: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    hanging: Mapping[str, tuple[Hanging, ...]]
    switches: frozenset[str]


def picture_of(graph: Graph) -> Picture:
    """The picture of a graph."""
    spine = _spine(graph)
    drawn = set(spine)
    hanging = {}
    for name in spine:
        hanging[name] = tuple(_merged(list(_hang(graph, name, 0, drawn))))
    lines = tuple((_kind(graph, lane), _label(graph, lane)) for lane in itertools.pairwise(spine))
    return Picture(tuple(spine), lines, hanging, graph.switches)


def as_text(picture: Picture) -> str:
    """Plain ASCII."""
    row, columns = "", []
    for name, line in zip(picture.spine, (*picture.lines, None), strict=True):
        columns.append(len(row))
        row += name
        if line is not None:
            kind, label = line
            row += f" {kind * 3}[ {label} ]{kind * 3} " if label else f" {kind * 3} "
    below = [_column(picture.hanging[name]) for name in picture.spine]
    rows = [row]
    for index in range(max(map(len, below), default=0)):
        text = ""
        for column, texts in zip(columns, below, strict=True):
            if index < len(texts):
                # A text that would run into the one before it starts further to the right.
                text = text.ljust(column) if len(text) < column else text + "  "
                text += texts[index]
        rows.append(text)
    return "\n".join(line.rstrip() for line in rows)


def _column(hanging: Sequence[Hanging]) -> list[str]:
    lines = ["|"] if hanging else []
    return lines + [f"{'   ' * one.depth}{one.name}{f' ({one.label})' if one.label else ''}" for one in hanging]


def as_svg(picture: Picture, title: str) -> str:
    """One self-contained image, in the colour of the text around it."""
    x, places = float(_MARGIN), []
    for name, line in zip(picture.spine, (*picture.lines, None), strict=True):
        texts = [f"{one.name} {one.label}" for one in picture.hanging[name]]
        width = (
            max(_BOX + len(name) * _LETTER, *(len(text) * _LETTER + _BOX for text in texts))
            if texts
            else _BOX + len(name) * _LETTER
        )
        places.append((x, _BOX + len(name) * _LETTER))
        x += max(width, _BOX + len(name) * _LETTER + (len(line[1]) * _LETTER if line else 0)) + _GAP
    height = 2 * _MARGIN + _BOX * 1.5 + _LINE * max(len(picture.hanging[name]) for name in picture.spine)
    parts = [*_svg_parts(picture, places)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x:.0f} {height:.0f}" width="{x:.0f}" height="{height:.0f}" '
        f'role="img" font-family="monospace" font-size="12" fill="none" stroke="currentColor">\n'
        f"<title>{escape(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _svg_parts(picture: Picture, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    middle = _MARGIN + _BOX
    for index, name in enumerate(picture.spine):
        x, width = places[index]
        round_px = 3 if name in picture.switches else _BOX / 2
        yield f'<rect x="{x:.0f}" y="{middle - _BOX / 2:.0f}" width="{width:.0f}" height="{_BOX}" rx="{round_px:.0f}"/>'
        yield _svg_text(x + width / 2, middle + 4, name, "middle")
        if index < len(picture.lines):
            kind, label = picture.lines[index]
            begin, end = x + width, places[index + 1][0]
            weight = {"-": "1", "=": "3", "~": '3" stroke-dasharray="2 4'}[kind]
            yield f'<path d="M{begin:.0f} {middle}H{end:.0f}" stroke-width="{weight}"/>'
            yield _svg_text((begin + end) / 2, middle - 8, label, "middle")
        hanging = picture.hanging[name]
        if hanging:
            foot = middle + _BOX / 2
            yield f'<path d="M{x + 10:.0f} {foot:.0f}V{foot + _LINE * len(hanging) - 4:.0f}"/>'
        for row, one in enumerate(hanging, 1):
            y = middle + _BOX / 2 + row * _LINE
            text = f"{one.name} {one.label}" if one.label else one.name
            yield f'<path d="M{x + 10:.0f} {y - 4:.0f}h{8 + 14 * one.depth}"/>'
            yield _svg_text(x + 22 + 14 * one.depth, y, text, "start")


def _svg_text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="currentColor" stroke="none">{escape(text)}</text>'
    )


def _spine(graph: Graph) -> list[str]:
    for pair in graph.pairs:
        if (route := graph.route(*pair)) is not None:
            return route
    hosts = [name for name in graph.hosts if graph.is_end(name)] or list(graph.neighbours)
    return graph.route(hosts[0], hosts[-1]) or hosts[:1]


def _hang(graph: Graph, name: str, depth: int, drawn: set[str]) -> Iterator[Hanging]:
    for other in graph.neighbours[name]:
        if other not in drawn:
            drawn.add(other)
            # The label is of the direction towards the spine; the other direction is added if it differs.
            yield Hanging(other, _label(graph, (other, name)), depth)
            yield from _hang(graph, other, depth + 1, drawn)


def _merged(hanging: Sequence[Hanging]) -> Iterator[Hanging]:
    """Runs of leaves with consecutive numbers and the same link, as in a2..a16."""
    first: Hanging | None = None
    last: Hanging | None = None
    for index, one in enumerate(hanging):
        leaf = index + 1 == len(hanging) or hanging[index + 1].depth <= one.depth
        if last is not None and leaf and _follows(last, one):
            last = one
            continue
        if first is not None and last is not None:
            yield _run(first, last)
        first = last = one
        if not leaf:
            yield one
            first = last = None
    if first is not None and last is not None:
        yield _run(first, last)


def _follows(last: Hanging, one: Hanging) -> bool:
    near, far = _NUMBERED.fullmatch(last.name), _NUMBERED.fullmatch(one.name)
    alike = (last.label, last.depth) == (one.label, one.depth)
    return alike and near is not None and far is not None and near[1] == far[1] and int(far[2]) == int(near[2]) + 1


def _run(first: Hanging, last: Hanging) -> Hanging:
    return first if first is last else Hanging(f"{first.name}..{last.name}", first.label, first.depth)


def _kind(graph: Graph, lane: Lane) -> str:
    carriage, back = graph.lanes[lane], graph.lanes[lane[1], lane[0]]
    return "~" if carriage.medium or back.medium else "=" if carriage.rate_bps or back.rate_bps else "-"


def _label(graph: Graph, lane: Lane) -> str:
    there, back = _numbers(graph.lanes[lane]), _numbers(graph.lanes[lane[1], lane[0]])
    if not back or back == there or back == there[1:]:
        return ", ".join(there)
    return f"{', '.join(there)}; back {', '.join(back)}" if there else f"back {', '.join(back)}"


def _numbers(carriage: Carriage) -> list[str]:
    """The values of a lane, the rate first."""
    numbers = []
    if carriage.rate_bps is not None:
        numbers.append(format_rate(carriage.rate_bps) + (f" {carriage.medium}" if carriage.medium else ""))
    if carriage.delay_us:
        numbers.append(format_duration(carriage.delay_us))
    if carriage.jitter_us:
        numbers.append(f"jitter {format_duration(carriage.jitter_us)}")
    if carriage.loss:
        numbers.append(f"loss {format_share(carriage.loss)}")
    return numbers
