"""Dataclasses whose methods are compiled when they are first used.

The decorator of the standard library compiles up to six methods for each class as its module is loaded, which takes a tenth of a
short command. Here all classes share the methods that need no code of their own, and `__init__` is compiled when it is first
looked up. All else is as in the standard library, whose `field`, `fields`, `replace` and `asdict` serve these classes too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """The decorator of the standard library; a class that this module does not cover gets its methods from there."""

        def decorate(cls):
            covered = options.keys() <= {"frozen", "slots"} and _has_only_own_fields(cls)
            return _with_shared_methods(cls, **options) if covered else dataclasses.dataclass(cls, **options)

        return decorate if cls is None else decorate(cls)


_METHODS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__")


def _has_only_own_fields(cls: type) -> bool:
    """Whether the class inherits no field, and writes none of the methods itself."""
    return not any(method in vars(cls) for method in _METHODS) and not hasattr(cls, "__dataclass_fields__")


def _with_shared_methods(cls: Any, *, frozen: bool = False, slots: bool = False) -> Any:
    # Without a docstring the standard library would make one of the signature, and so compile `__init__`.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
    own = dataclasses.fields(made)
    for field in made.__dataclass_fields__.values():
        usual = field not in own or (field.init and not field.kw_only and field.hash is None)
        if not usual or "InitVar" in str(field.type):
            raise TypeError(
                f"{cls.__qualname__}.{field.name} is a field that only the standard library's dataclass knows"
            )
    parameters = made.__dataclass_params__
    parameters.init = parameters.repr = parameters.eq = True
    parameters.frozen = frozen
    made.__init__ = _FirstInit(made)
    made.__repr__ = _repr
    made.__eq__, hashed = _comparison([field.name for field in own if field.compare])
    made.__hash__ = hashed if frozen else None
    if frozen:
        made.__setattr__ = _setattr
        made.__delattr__ = _delattr
    if frozen and slots:
        # Pickle would call __setattr__.
        made.__getstate__ = _getstate
        made.__setstate__ = _setstate
    return made


class _FirstInit:
    """Takes the place of a class's `__init__` until it is looked up: by the first instance, or for its signature."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        init = self._owner.__init__ = _compiled_init(self._owner)
        bound: Callable[..., None] = init.__get__(instance, owner)
        return bound


def _compiled_init(cls: Any) -> Any:
    known: dict[str, Any] = {"_set": object.__setattr__, "_new": _NEW}
    parameters, lines = ["self"], []
    for field in dataclasses.fields(cls):
        value = field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_default_{field.name}"] = field.default_factory
            parameters.append(f"{field.name}=_new")
            value = f"_default_{field.name}() if {field.name} is _new else {field.name}"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{field.name}"] = field.default
            parameters.append(f"{field.name}=_default_{field.name}")
        else:
            parameters.append(field.name)
        lines.append(
            f"_set(self, {field.name!r}, {value})"
            if cls.__dataclass_params__.frozen
            else f"self.{field.name} = {value}"
        )
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    # The names are those of fields, which Python has read as names.
    exec("\n ".join([f"def __init__({', '.join(parameters)}):", *(lines or ["pass"])]), known)  # noqa: S102
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls)} | {"return": None}
    return init


class _New:
    """The default of a parameter whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_NEW = _New()


def _repr(self: Any) -> str:
    shown = (field.name for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _comparison(names: list[str]) -> tuple[Any, Any]:
    """The `__eq__` and `__hash__` of a class whose equal instances have equal values of these fields."""
    values: Callable[[Any], object]
    values = attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equal, hashed


def _is_fixed(self: Any, name: str) -> bool:
    """Whether the attribute is one of a frozen class; a class that inherits from one may have others."""
    return "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__


def _setattr(self: object, name: str, value: object) -> None:
    if _is_fixed(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delattr(self: object, name: str) -> None:
    if _is_fixed(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _getstate(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
