"""What a search is for, as a person writes it: an objective, a number to make large, or a claim, a bound that should hold.

    objective   goodput(app)/1e6 - 0.1*queue_mean       claim   goodput(app) >= 0.9 * 622e6

Measures are those of `longhaul list measures`, in their own units; a flow's have its name in parentheses. The text is read as
Python's grammar has it, and whatever is not in the tables below is refused: nothing of it is ever executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from longhaul.orchestrator.analysis.measures import value_of
from longhaul.orchestrator.plan.run_document import RunNumbers
from longhaul.orchestrator.spec.measures import MEASURES, read_amount, write_amount
from longhaul.orchestrator.system.errors import PlanError, nearest

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
    """A number to make large."""

    text: str
    _root: _Expression

    @property
    def measure(self) -> Measure | None:
        """The one measure that it is, unless it computes with measures."""
        return self._root if isinstance(self._root, Measure) else None

    def value(self, document: RunNumbers) -> float:
        """Its value for a run; ValueError, saying why, where it has none."""
        try:
            value = _evaluate(self._root, document)
        except ArithmeticError as error:
            raise ValueError(f"{self.text} cannot be computed: {error}") from None
        if not math.isfinite(value):
            raise ValueError(f"{self.text} is not a number")
        return value


@dataclass(frozen=True, slots=True)
class Claim:
    """A bound on one measure, in its own unit: what one line of `expect` says."""

    text: str
    measure: Measure
    at_least: bool
    bound: float

    def margin(self, document: RunNumbers) -> float:
        """How far inside its bound the measure is, 0 or more where the claim holds; ValueError where it has no value."""
        value = _measured(self.measure, document)
        return value - self.bound if self.at_least else self.bound - value


def read_objective(text: str, flows: Collection[str]) -> Objective:
    """The objective in a text about an experiment with these flows; PlanError says what is allowed."""
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
        raise ValueError("the bound has to be a number, so that it can become a line of `expect`")
    try:
        return _evaluate(bound, {})
    except ArithmeticError as error:
        raise ValueError(f"the bound cannot be computed: {error}") from None


def _allowed(measure: str, bound: float) -> float:
    """The bound as a line of `expect` has it."""
    try:
        read = read_amount(measure, write_amount(measure, bound))
    except ValueError as error:
        raise ValueError(f"the bound of {measure} is {bound:g}; allowed: {error}") from None
    if abs(read - bound) > 1e-3 * abs(bound):
        raise ValueError(f"the bound of {measure} is {bound:g}, and `expect` would make {read:g} of it")
    return read


def _read(text: str, flows: Collection[str]) -> _Expression:
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _translate(tree, text.strip(), flows)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"not an expression; allowed: {_ALLOWED}; odd flow names stand in quotes") from None


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
    raise ValueError(f"{ast.get_source_segment(text, node) or text!r} cannot stand there; allowed: {_ALLOWED}")


def _call(name: str, given: Sequence[ast.expr], text: str, flows: Collection[str]) -> _Expression:
    if name not in _FUNCTIONS:
        if len(given) != 1:
            raise ValueError(f"{name}(...) takes the name of one flow")
        return _measure(name, _flow_name(given[0], text), flows)
    function, fewest, most = _FUNCTIONS[name]
    if not fewest <= len(given) <= most:
        raise ValueError(f"{name}(...) takes {fewest if fewest == most else f'{fewest} to {most}'} values")
    return _Operation(function, tuple(_translate(one, text, flows) for one in given))


def _flow_name(node: ast.expr, text: str) -> str:
    """Names may hold dashes, which Python's grammar takes for subtractions."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return (ast.get_source_segment(text, node) or "").strip()


def _measure(name: str, flow: str | None, flows: Collection[str]) -> Measure:
    if name not in MEASURES:
        near = nearest(name, [*MEASURES, *_FUNCTIONS])
        raise ValueError(f"{name} is no measure{near}; `longhaul list measures` lists them")
    whose = MEASURES[name].of
    if flow is None and whose == "flow":
        raise ValueError(f"{name} is a flow's: write {name}({next(iter(flows), 'FLOW')})")
    if flow is not None and whose not in ("flow", "either"):
        raise ValueError(f"{name} is of the {whose}, not of a flow: write {name}")
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
