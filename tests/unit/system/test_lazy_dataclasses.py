"""Lazy dataclasses behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from longhaul.orchestrator.system import lazy_dataclasses

Decorator = Callable[..., Any]


def classes(dataclass: Decorator) -> list[Any]:
    """The same classes by a decorator."""

    @dataclass(frozen=True, slots=True)
    class Frozen:
        """With each kind of a field."""

        KIND: ClassVar[str] = "frozen"
        a: int
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list, compare=False)
        d: float = dataclasses.field(default=1.5, repr=False)

        @property
        def twice(self) -> int:
            return 2 * self.a

    @dataclass(frozen=True)
    class Cached:
        a: int

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("a is negative")

        @cached_property
        def square(self) -> int:
            return self.a**2

    @dataclass(slots=True)
    class Mutable:
        a: int = 3
        b: tuple[int, ...] = ()

    @dataclass
    class Empty:
        pass

    @dataclass(frozen=True)
    class Derived(Cached):
        b: int = 7

    @dataclass(frozen=True, slots=True)
    class Written:
        a: float

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Written) and round(self.a) == round(other.a)

        def __hash__(self) -> int:
            return round(self.a)

    @dataclass(frozen=True, order=True)
    class Ordered:
        a: int

    class Plain(Cached):
        pass

    found = [Frozen, Cached, Mutable, Empty, Derived, Written, Ordered, Plain]
    for one in found:
        # Pickle looks classes up by name.
        one.__qualname__ = f"{'Lazy' if dataclass is lazy_dataclasses.dataclass else 'Eager'}{one.__name__}"
        setattr(sys.modules[__name__], one.__qualname__, one)
    return found


LAZY, EAGER = classes(lazy_dataclasses.dataclass), classes(dataclasses.dataclass)
ARGUMENTS: list[list[tuple[Any, ...]]] = [
    [(1,), (1, "y"), (2, "x", [1], 2.5), (1, "x", [4])],
    [(1,), (2,), (float("nan"),)],
    [(), (4,), (4, (1, 2))],
    [()],
    [(1,), (1, 2)],
    [(1.2,), (0.9,), (3.0,)],
    [(1,), (2,)],
    [(5,), (6,)],
]
PAIRS = list(zip(LAZY, EAGER, ARGUMENTS, strict=True))
NAMES = [one.__name__ for one in EAGER]


def outcome(cls: Any, values: tuple[Any, ...], act: Callable[[Any], object]) -> object:
    """The value, or the error without the names of classes, which differ."""
    try:
        return _without_names(act(cls(*values)))
    except Exception as error:
        return type(error), _without_names(error)


def _without_names(found: object) -> str:
    return re.sub(r"Lazy|Eager|classes\.<locals>\.", "", str(found))


def written(one: Any, name: str) -> Any:
    setattr(one, name, 9)
    return one, getattr(one, name)


ACTS: list[Callable[[Any], object]] = [
    repr,
    dataclasses.asdict,
    dataclasses.astuple,
    lambda one: {one: 1}[one],
    lambda one: hash(one) == hash(copy.copy(one)),
    lambda one: written(one, "a"),
    # The standard library's error of a class with slots is that of a wrong call.
    lambda one: written(one, "other") if hasattr(one, "__dict__") else "no other attribute",
    lambda one: delattr(one, "a"),
    lambda one: dataclasses.replace(one, a=8),
    lambda one: dataclasses.replace(one, wrong=8),
    lambda one: pickle.loads(pickle.dumps(one)),
    lambda one: pickle.loads(pickle.dumps(one)) == one,
    lambda one: copy.deepcopy(one) == one,
    lambda one: one < one,
    lambda one: one == 1,
    lambda one: hasattr(one, "__dict__"),
    lambda one: one.square + one.square,
    lambda one: one.twice,
    lambda one: type(one)("a", "b", "c", "d", "e"),
    lambda one: type(one)(b=1, unknown=2),
    lambda one: inspect.signature(type(one)),
    lambda one: inspect.signature(type(one).__init__),
    lambda one: type(one).__match_args__,
    lambda one: [
        (f.name, f.type, f.default) for f in dataclasses.fields(one) if f.default_factory is dataclasses.MISSING
    ],
    lambda one: type(one).__dataclass_params__,
    lambda one: type(one).__init__.__annotations__,
]


@pytest.mark.parametrize(("lazy", "eager", "arguments"), PAIRS, ids=NAMES)
def test_as_in_the_standard_library(lazy: Any, eager: Any, arguments: list[tuple[Any, ...]]) -> None:
    for act in ACTS:
        for values in arguments:
            # A new instance for each: some acts change it.
            assert outcome(lazy, values, act) == outcome(eager, values, act)
    equal = [[one(*left) == one(*right) for left in arguments for right in arguments] for one in (lazy, eager)]
    assert equal[0] == equal[1]


def test_a_signature_is_known_before_the_first_instance() -> None:
    lazy, eager = classes(lazy_dataclasses.dataclass)[0], classes(dataclasses.dataclass)[0]
    assert str(inspect.signature(lazy)) == str(inspect.signature(eager))


def test_each_instance_has_its_own_value_of_a_factory() -> None:
    frozen = LAZY[0]
    assert frozen(1).c is not frozen(1).c


@pytest.mark.parametrize(
    "kind", [dataclasses.field(kw_only=True), dataclasses.field(hash=False), dataclasses.field(init=False, default=1)]
)
def test_a_field_that_is_not_covered_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"Odd\.a is a field that only the standard library's dataclass knows"):

        @lazy_dataclasses.dataclass(frozen=True)
        class Odd:
            a: int = kind
