"""Parses the goal of a search as a user writes it: an objective, a number to maximise, or a claim, a bound that should hold.

    objective   goodput(app)/1e6 - 0.1*queue_mean       claim   goodput(app) >= 0.9 * 622e6

Measures are those of `longhaul list measures`, in their own units; a flow's measure has the flow's name in parentheses. The text is parsed
by Python's grammar, and everything that is not in the tables below is refused: no part of it is ever executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.plan.run_document import RunNumbers
from longhaul.orchestrator.spec.amounts import read_amount, write_amount
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.errors import PlanError, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_LONGEST = 400
_OPERATIONS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
# Name -> (function, fewest values, most values).
_FUNCTIONS: Mapping[str, tuple[Callable[..., float], int, int]] = {
    "min": (min, 2, 20),
    "max": (max, 2, 20),
    "abs": (abs, 1, 1),
    "log10": (math.log10, 1, 1),
    "sqrt": (math.sqrt, 1, 1),
}
_ALLOWED = "numbers, measures, + - * / **, parentheses, " + ", ".join(_FUNCTIONS)
_CLAIM = re.compile(r"(.*?)(>=|<=)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of a run's document."""

    name: str
    flow: str | None

    def __str__(self) -> str:
        return f"{self.name}({self.flow})" if self.flow else self.name


@dataclass(frozen=True, slots=True)
class _Operation:
    apply: Callable[..., float]
    parts: tuple[_Expression, ...]


_Expression = float | Measure | _Operation


@dataclass(frozen=True, slots=True)
class Objective:
    """A number to maximise."""

    text: str
    _root: _Expression

    @property
    def measure(self) -> Measure | None:
        """Its only measure, unless it is an expression of measures."""
        return self._root if isinstance(self._root, Measure) else None

    def value(self, document: RunNumbers) -> float:
        """Its value for a run; ValueError with the reason if it has none."""
        try:
            value = _evaluate(self._root, document)
        except ArithmeticError as error:
            raise ValueError(f"{self.text} cannot be computed: {error}") from None
        if not math.isfinite(value):
            raise ValueError(f"{self.text} is not a number")
        return value


@dataclass(frozen=True, slots=True)
class Claim:
    """A bound on one measure, in its own unit: one line of `expect`."""

    text: str
    measure: Measure
    at_least: bool
    bound: float

    def margin(self, document: RunNumbers) -> float:
        """How far inside its bound the measure is, 0 or more where the claim holds; ValueError if it has no value."""
        value = _measured(self.measure, document)
        return value - self.bound if self.at_least else self.bound - value


def read_objective(text: str, flows: Collection[str]) -> Objective:
    """The objective in a text about an experiment with these flows; PlanError lists what is allowed."""
    try:
        root = _read(text, flows)
        if not [*_measures(root)]:
            raise ValueError("no measure in it, so that every run is equally good")
    except ValueError as error:
        raise PlanError("reading the objective", repr(text), str(error)) from None
    return Objective(text.strip(), root)


def read_claim(text: str, flows: Collection[str]) -> Claim:
    """The claim in a text; the bound may be an expression of numbers, or a quantity with its unit. PlanError."""
    try:
        parts = _CLAIM.fullmatch(text)
        if parts is None or _CLAIM.fullmatch(parts[3]):
            raise ValueError("a claim is a measure, >= or <=, and a bound, as in goodput(app) >= 500 Mbit/s")
        left, sign, right = (part.strip() for part in parts.groups())
        if not _is_measure(left) and _is_measure(right):
            left, sign, right = right, {">=": "<=", "<=": ">="}[sign], left
        measure = _read(left, flows)
        if not isinstance(measure, Measure):
            raise ValueError("a claim is about one measure, so that it can become a line of `expect`")
        return Claim(text.strip(), measure, sign == ">=", _allowed(measure.name, _bound(measure.name, right, flows)))
    except ValueError as error:
        raise PlanError("reading the claim", repr(text), str(error)) from None


def _is_measure(text: str) -> bool:
    return text.partition("(")[0].strip() in MEASURES


def _bound(measure: str, text: str, flows: Collection[str]) -> float:
    try:
        return read_amount(measure, text)
    except ValueError as error:
        if re.search(r"[\d.)]\s*[A-Za-z%]+(/s)?$", text) and not re.search(r"\d[eE][+-]?\d+$", text):
            raise ValueError(f"the bound of {measure} is {error}") from None
    bound = _read(text, flows)
    if [*_measures(bound)]:
        raise ValueError("the bound must be a number, so that it can become a line of `expect`")
    try:
        return _evaluate(bound, {})
    except ArithmeticError as error:
        raise ValueError(f"the bound cannot be computed: {error}") from None


def _allowed(measure: str, bound: float) -> float:
    """The bound as a line of `expect` stores it."""
    try:
        read = read_amount(measure, write_amount(measure, bound))
    except ValueError as error:
        raise ValueError(f"the bound of {measure} is {bound:g}; allowed: {error}") from None
    if abs(read - bound) > 1e-3 * abs(bound):
        raise ValueError(f"the bound of {measure} is {bound:g}, but `expect` would round it to {read:g}")
    return read


def _read(text: str, flows: Collection[str]) -> _Expression:
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _translate(tree, text.strip(), flows)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"not an expression; allowed: {_ALLOWED}; put unusual flow names in quotes") from None


def _translate(node: ast.AST, text: str, flows: Collection[str]) -> _Expression:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return _number(node.value)
    if isinstance(node, ast.Name):
        return _measure(node.id, None, flows)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        parts = (_translate(node.left, text, flows), _translate(node.right, text, flows))
        return _Operation(_OPERATIONS[type(node.op)], parts)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return _Operation(_OPERATIONS[type(node.op)], (_translate(node.operand, text, flows),))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, node.args, text, flows)
    raise ValueError(f"{ast.get_source_segment(text, node) or text!r} is not allowed there; allowed: {_ALLOWED}")


def _call(name: str, arguments: Sequence[ast.expr], text: str, flows: Collection[str]) -> _Expression:
    if name not in _FUNCTIONS:
        if len(arguments) != 1:
            raise ValueError(f"{name}(...) takes the name of one flow")
        return _measure(name, _flow_name(arguments[0], text), flows)
    function, fewest, most = _FUNCTIONS[name]
    if not fewest <= len(arguments) <= most:
        raise ValueError(f"{name}(...) takes {fewest if fewest == most else f'{fewest} to {most}'} values")
    return _Operation(function, tuple(_translate(one, text, flows) for one in arguments))


def _flow_name(node: ast.expr, text: str) -> str:
    """Names may contain dashes, which Python's grammar parses as subtractions."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return (ast.get_source_segment(text, node) or "").strip()


def _measure(name: str, flow: str | None, flows: Collection[str]) -> Measure:
    if name not in MEASURES:
        near = nearest(name, [*MEASURES, *_FUNCTIONS])
        raise ValueError(f"{name} is not a measure{near}; `longhaul list measures` lists them")
    whose = MEASURES[name].of
    if flow is None and whose == "flow":
        raise ValueError(f"{name} is a measure of a flow: write {name}({next(iter(flows), 'FLOW')})")
    if flow is not None and whose not in ("flow", "either"):
        raise ValueError(f"{name} is a measure of the {whose}, not of a flow: write {name}")
    if flow is not None and flow not in flows:
        raise ValueError(f"{name}({flow}): no flow of that name; known: {', '.join(flows)}")
    return Measure(name, flow)


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number is too large") from None


def _measures(root: _Expression) -> Iterator[Measure]:
    if isinstance(root, Measure):
        yield root
    elif isinstance(root, _Operation):
        for part in root.parts:
            yield from _measures(part)


def _evaluate(root: _Expression, document: RunNumbers) -> float:
    if isinstance(root, Measure):
        return _measured(root, document)
    if isinstance(root, _Operation):
        parts = [_evaluate(part, document) for part in root.parts]
        try:
            return root.apply(*parts)
        except ValueError as error:
            raise ArithmeticError(error) from None
    return root


def _measured(measure: Measure, document: RunNumbers) -> float:
    value = value_of(document, measure.name, measure.flow)
    if value is None:
        raise ValueError(f"{measure} has no value in this run")
    return value
