"""Reads a built module: its name, the congestion controls that it registers, and the kernel that it was built for. Gives it other names.

    tcp_cubic.ko, registers "cubic"  -->  own_cubic.ko, registers "own-cubic"        the kernel's own cubic stays next to it

The name that a control registers is a field of its `struct tcp_congestion_ops`, in front of the field with the module's owner, which every
control sets to its own module: that reference is in the relocations, so no version of the structure is assumed. The module's name is
in its `struct module`. Other names change the data of the object; its code stays as it was compiled.
"""

from __future__ import annotations

import bisect
import hashlib
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Changes with what this makes of an object.
VERSION = "2"

# TCP_CA_NAME_MAX and MODULE_NAME_LEN, each with its end.
_CONTROL_BYTES = 16
_MODULE_BYTES = 56

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _RELA = 1, 2, 4
_OBJECT, _FUNCTION = 1, 2
# A place in a section's header: its size.
_SIZE_AT = 32

_REGISTER = "tcp_register_congestion_control"
_THIS_MODULE = "__this_module"
_STRUCT_MODULE = ".gnu.linkonce.this_module"
_EXPORTS = ("__ksymtab", "__ksymtab_gpl")
_NAME = re.compile(rb"([!-~]{1,15})\0+")
# The functions that every control has: ssthresh, undo_cwnd, and cong_avoid or cong_control.
_LEAST_FUNCTIONS = 3
# The search compares them with each other; the largest control has 300.
_MOST_ROWS = 5_000
# A kernel's modules have some 60. Sections may overlap, and so have more bytes than the file.
_MOST_SECTIONS = 1_000
# Calls of tcp_register_congestion_control(), and the functions that have one.
_MOST_CALLS = 64
_LONGEST_TEXT = 512


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    header: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    kind: int
    section: int
    value: int
    size: int


@dataclass(frozen=True, slots=True)
class _Relocation:
    section: int
    offset: int
    symbol: int
    addend: int


@dataclass(frozen=True, slots=True)
class _Control:
    """A `struct tcp_congestion_ops`: its name, the place of the name in the file, and the variable that contains it."""

    name: str
    at: int
    variable: _Symbol


def controls_in(content: bytes) -> list[str]:
    """The names of the controls that a module registers, sorted; ValueError for a file that is not a module."""
    with _reading():
        return sorted({one.name for one in ModuleObject(content).registered()})


def module_name(content: bytes) -> str:
    """The name under which the kernel lists a module; ValueError for a file that is not a module."""
    with _reading():
        return ModuleObject(content).modinfo(b"name").decode()


def has_license(content: bytes) -> bool:
    """Whether a module names a license; ValueError for a file that is not a module."""
    with _reading():
        return ModuleObject(content).has_modinfo(b"license")


def built_for(content: bytes) -> str:
    """The kernel that a module was built for, with the options that must be the same; "" if it does not say."""
    match = re.search(rb"\0vermagic=([^\0]*)\0", content)
    return match[1].decode(errors="replace").strip() if match else ""


def renamed(content: bytes, written: str, module: str, control: str, *, beside: bool = False) -> bytes:
    """The object as `module`, whose control `written` registers as `control`; ValueError states what is needed instead.

    An object that is loaded `beside` the kernel's own of that source may have its only control under any name, and offers its functions to
    no other module, because the kernel's own offers them too. Other controls of the object get names that no experiment uses.
    """
    with _reading():
        return _renamed(content, written, module, control, beside=beside)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (struct.error, IndexError, UnicodeDecodeError):
        raise ValueError("a kernel module for x86-64 whose parts are where its headers say") from None


def _renamed(content: bytes, written: str, module: str, control: str, *, beside: bool) -> bytes:
    elf = ModuleObject(content)
    made = bytearray(content)
    chosen = elf.control(written, any_name=beside)
    for one in (chosen, *elf.registered()):
        name = (
            control
            if one.at == chosen.at
            else f"own-{hashlib.sha256(f'{module} {one.name}'.encode()).hexdigest()[:10]}"
        )
        made[slice(*_span(one.at, _CONTROL_BYTES))] = name.encode().ljust(_CONTROL_BYTES, b"\0")
    former = elf.modinfo(b"name")
    at = elf.find(_STRUCT_MODULE, former.ljust(_MODULE_BYTES, b"\0"))
    made[slice(*_span(at, _MODULE_BYTES))] = module.encode().ljust(_MODULE_BYTES, b"\0")
    # The kernel then reads the name in the structure.
    tag = elf.find(".modinfo", b"name=" + former + b"\0")
    made[slice(*_span(tag, 4))] = b"from"
    for section in elf.sections if beside else ():
        if section.name.removeprefix(".rela") in _EXPORTS:
            struct.pack_into("<Q", made, section.header + _SIZE_AT, 0)
    return bytes(made)


def _span(at: int, size: int) -> tuple[int, int]:
    return at, at + size


class ModuleObject:
    """The parts of an ELF file that name a module and its controls; struct.error and IndexError for a malformed one."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        kind, machine, _, _, _, at, _, _, _, _, size, count, names = _HEADER.unpack_from(content)
        if content[:6] != b"\x7fELF\x02\x01" or (kind, machine, size) != (_RELOCATABLE, _X86_64, _SECTION.size):
            raise struct.error
        if count > _MOST_SECTIONS:
            raise ValueError(f"a module of at most {_MOST_SECTIONS} sections")
        headers = [_SECTION.unpack_from(content, at + place * size) for place in range(count)]
        self._names_at = headers[names][4]
        self.sections = [
            _Section(self._text(self._names_at + row[0]), row[1], at + place * size, row[4], row[5], row[6], row[7])
            for place, row in enumerate(headers)
        ]
        if sum(one.size for one in self.sections if one.kind in (_PROGBITS, _SYMTAB, _RELA)) > 2 * len(content):
            raise struct.error

    def find(self, section: str, wanted: bytes) -> int:
        """The only place of these bytes in a section."""
        found = next(one for one in [*self.sections, None] if one is None or one.name == section)
        part = b"" if found is None else self._bytes(found)
        if found is None or part.count(wanted) != 1:
            raise struct.error
        return found.offset + part.index(wanted)

    def modinfo(self, key: bytes) -> bytes:
        """A text of .modinfo."""
        for section in self.sections:
            for text in self._bytes(section).split(b"\0") if section.name == ".modinfo" else ():
                name, _, value = text.partition(b"=")
                if name == key and 0 < len(value) < _MODULE_BYTES:
                    return value
        raise struct.error

    def has_modinfo(self, key: bytes) -> bool:
        """Whether .modinfo has a text of that name."""
        return any(
            text.startswith(key + b"=")
            for section in self.sections
            if section.name == ".modinfo"
            for text in self._bytes(section).split(b"\0")
        )

    def registered(self) -> list[_Control]:
        """The controls that it registers; all that it has if its code does not say which."""
        controls = [*self._controls()]
        found = [one for one in controls if one.variable in self._registered_variables]
        if not found and self._registered_variables:
            found = [one for variable in self._registered_variables for one in self._without_owner(variable)]
        return found or controls

    def control(self, wanted: str, *, any_name: bool) -> _Control:
        """The control of that name, or with `any_name` another one if it is the only one."""
        controls = self.registered()
        names = sorted({one.name for one in controls})
        if any_name and wanted not in names and len(names) == 1:
            wanted = names[0]
        found = [one for one in controls if one.name == wanted]
        if names and not found:
            raise ValueError(f'.name = "{wanted}" in its struct tcp_congestion_ops; it registers {" and ".join(names)}')
        if len(found) != 1:
            count = len(found) or "none"
            raise ValueError(
                f'one struct tcp_congestion_ops with .name = "{wanted}" among its variables; it has {count}'
            )
        return found[0]

    def _controls(self) -> Iterator[_Control]:
        """Every structure with a name in front of a reference to this module."""
        for one in self._relocations:
            if self._symbols[one.symbol].name == _THIS_MODULE:
                at = one.offset - _CONTROL_BYTES
                variable = self._variable_at(one.section, at)
                if variable and (name := self._name_at(one.section, at)):
                    yield _Control(name, self.sections[one.section].offset + at, variable)

    def _without_owner(self, variable: _Symbol) -> Iterator[_Control]:
        """The control of a registered variable that has no reference to this module: the last text in it, behind its functions."""
        section = self._data_of(variable)
        inside = [one for one in self._relocations if self._is_inside(one, variable)] if section else []
        if section is None or len(inside) < _LEAST_FUNCTIONS:
            return
        last = min(variable.value + variable.size, section.size) - _CONTROL_BYTES
        end = 0
        for at in range(variable.value, last + 1, 8):
            # The second half of a long name is none.
            if at >= end and (name := self._name_at(variable.section, at)) is not None:
                end = at + _CONTROL_BYTES
                yield _Control(name, section.offset + at, variable)

    def _name_at(self, section: int, at: int) -> str | None:
        """The name of a control that fills this place, and is not an address."""
        place = self.sections[section]
        if at < 0 or at % 8 or at + _CONTROL_BYTES > place.size:
            return None
        if any((section, at + byte) in self._relocated for byte in range(_CONTROL_BYTES)):
            return None
        match = _NAME.fullmatch(self._bytes(place)[at : at + _CONTROL_BYTES])
        return match[1].decode() if match else None

    def _variable_at(self, section: int, at: int) -> _Symbol | None:
        """The initialised variable that has this place of a section."""
        variables = self._variables.get(section, [])
        before = bisect.bisect_right(variables, at, key=lambda one: one.value)
        found = variables[before - 1] if before else None
        return found if found and at < found.value + found.size else None

    @cached_property
    def _variables(self) -> dict[int, list[_Symbol]]:
        """The initialised variables of each section, by their places."""
        found: dict[int, list[_Symbol]] = {}
        for one in sorted((one for one in self._symbols if one.size and self._data_of(one)), key=lambda one: one.value):
            found.setdefault(one.section, []).append(one)
        return found

    def _data_of(self, symbol: _Symbol) -> _Section | None:
        """The section of an initialised variable."""
        if symbol.kind != _OBJECT or not 0 < symbol.section < len(self.sections):
            return None
        section = self.sections[symbol.section]
        return section if section.kind == _PROGBITS and section.name != _STRUCT_MODULE else None

    @staticmethod
    def _is_inside(one: _Relocation, symbol: _Symbol) -> bool:
        return one.section == symbol.section and symbol.value <= one.offset < symbol.value + symbol.size

    @cached_property
    def _registered_variables(self) -> set[_Symbol]:
        """The variables that the functions which call tcp_register_congestion_control() refer to."""
        calls = [one for one in self._relocations if self._symbols[one.symbol].name == _REGISTER][:_MOST_CALLS]
        functions = [one for one in self._symbols if one.kind == _FUNCTION]
        callers = [one for one in functions if any(self._is_inside(call, one) for call in calls)][:_MOST_CALLS]
        found = set()
        for one in self._relocations:
            if any(self._is_inside(one, caller) for caller in callers):
                target = self._symbols[one.symbol]
                variable = self._variable_at(target.section, target.value + one.addend)
                found |= {variable} if variable else set()
        return found

    @cached_property
    def _symbols(self) -> list[_Symbol]:
        table = next((one for one in self.sections if one.kind == _SYMTAB), None)
        if table is None:
            raise struct.error
        names_at = self.sections[table.link].offset
        rows = _SYMBOL.iter_unpack(self._bytes(table))
        return [
            _Symbol(self._text(names_at + name), info & 15, section, value, size)
            for name, info, _, section, value, size in rows
        ]

    @cached_property
    def _relocations(self) -> list[_Relocation]:
        found = []
        for table in self.sections:
            # Those of debugging information name no control.
            if table.kind == _RELA and not table.name.startswith(".rela.debug"):
                rows = _RELOCATION.iter_unpack(self._bytes(table))
                found += [_Relocation(table.info, offset, info >> 32, addend) for offset, info, addend in rows]
        if any(one.section >= len(self.sections) or one.symbol >= len(self._symbols) for one in found):
            raise struct.error
        if max(len(found), len(self._symbols)) > _MOST_ROWS:
            raise ValueError(f"a module of at most {_MOST_ROWS} symbols and relocations")
        return found

    @cached_property
    def _relocated(self) -> set[tuple[int, int]]:
        return {(one.section, one.offset) for one in self._relocations}

    def _bytes(self, section: _Section) -> bytes:
        return self.content[section.offset : section.offset + section.size]

    def _text(self, at: int) -> str:
        end = self.content.find(b"\0", at, at + _LONGEST_TEXT)
        if end < 0:
            raise struct.error
        return self.content[at:end].decode()
