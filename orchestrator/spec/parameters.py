"""Parameters of congestion-control modules: what an experiment may set, and where a module's source declares them.

The project's modules declare each parameter once, in C (kmod/lh_param.h), and this reads that line:

    LH_PARAM(ai_cnt, packets, 10, 1, 1000, "segments acknowledged for each step of the closed loop");

Modules of other authors declare less: `module_param()` gives a name, and a whole number is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import (
    format_duration,
    format_rate,
    parse_duration,
    parse_packets,
    parse_rate,
    split_quantity,
)

_MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6}
_SWITCH = {True: 1, False: 0, "on": 1, "off": 0}
_LARGEST = 2**32 - 1

# Units without which a number is ambiguous.
_WITH_UNIT = ("packets", "kbit_s", *_MICROSECONDS)
UNITS = ("switch", "number", "packets", "us", "ms", "s", "kbit_s", "thousandths")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`unit` is one of UNITS; low, high and default are in the module's unit.

    A parameter with a socket option belongs to a flow, all others to the module and thus to all its flows in a run. A module
    reads a `fixed` parameter only when it is loaded.
    """

    name: str
    unit: str
    default: int
    low: int
    high: int
    about: str
    socket_option: str | None = None
    fixed: bool = False

    def read(self, written: object) -> int:
        """The module's number for a value in an experiment; ValueError states what is allowed."""
        value = self._number(written)
        if value is None and isinstance(written, int | float) and self.unit in _WITH_UNIT:
            raise ValueError(f"{self.allowed}; the unit is missing, as in {self.show(self.default or self.high)}")
        if value is None or not self.low <= value <= self.high:
            raise ValueError(self.allowed)
        return value

    def _number(self, written: object) -> int | None:
        if self.unit == "switch":
            return _SWITCH.get(written) if isinstance(written, bool | str) else None
        if isinstance(written, bool):
            return None
        if self.unit == "thousandths":
            return _thousandths(written)
        if isinstance(written, str):
            if self.unit == "packets":
                return parse_packets(written)
            if self.unit == "kbit_s":
                return _whole(parse_rate(written), 1000, "kbit/s")
            if self.unit in _MICROSECONDS:
                return _whole(parse_duration(written), _MICROSECONDS[self.unit], self.unit)
        return written if self.unit == "number" and isinstance(written, int) else None

    def show(self, value: int) -> str:
        """The module's number as a user would write it."""
        if self.unit == "switch":
            return "on" if value else "off"
        if self.unit == "thousandths":
            return f"{value / 1000:g}"
        if self.unit == "packets":
            return f"{value} packets"
        if self.unit == "kbit_s":
            return format_rate(value * 1000) if value else "0 bit/s"
        if self.unit in _MICROSECONDS:
            return format_duration(value * _MICROSECONDS[self.unit])
        return str(value)

    @property
    def allowed(self) -> str:
        """One phrase for error messages and documentation."""
        if self.unit == "switch":
            return "on or off"
        if self.unit == "number":
            return f"a whole number from {self.low} to {self.high}"
        if self.unit == "thousandths":
            return f"{self.show(self.low)} to {self.show(self.high)}, in steps of 0.001"
        steps = f", in whole {self.unit}" if self.unit in _MICROSECONDS else ""
        return f"{self.show(self.low)} to {self.show(self.high)}{steps}"


def declared_parameters(source: Path) -> tuple[Parameter, ...]:
    """The parameters that a module's source, and the headers next to it that it includes, declare."""
    text = _with_headers(source)
    return _each_once([*_declarations(text), *_plain_declarations(text)])


def parameters_of_user_source(source: Path) -> tuple[Parameter, ...]:
    """The same of a user's source, which may be a BPF program."""
    text = _with_headers(source)
    return _each_once([*_declarations(text), *_plain_declarations(text), *_read_only_declarations(text)])


def _each_once(found: list[Parameter]) -> tuple[Parameter, ...]:
    return tuple({parameter.name: parameter for parameter in reversed(found)}.values())[::-1]


def described(source: Path) -> str:
    """The module's MODULE_DESCRIPTION, or ""."""
    match = re.search(r'MODULE_DESCRIPTION\(\s*"([^"]*)"\s*\)', source.read_text(errors="replace"))
    return match[1] if match else ""


def object_parameters(module: bytes) -> tuple[Parameter, ...]:
    """The parameters of a built module, from the texts of its .modinfo."""
    texts = module.split(b"\0")
    descriptions = dict(text[5:].split(b":", 1) for text in texts if re.match(rb"parm=\w+:", text))
    found = []
    for name in (text[9:].partition(b":")[0] for text in texts if re.match(rb"parmtype=\w+:", text)):
        about = descriptions.get(name, b"").decode(errors="replace")
        ours = _LH_PARAM.fullmatch(about)
        if ours:
            text, unit, low, high, default = ours.groups()
            found.append(Parameter(name.decode(), unit, int(default), int(low), int(high), text))
        else:
            found.append(Parameter(name.decode(), "number", 0, 0, _LARGEST, about))
    return tuple(found)


# The form in which LH_PARAM writes it for modinfo.
_LH_PARAM = re.compile(r"(.*) \[(\w+) (\d+)\.\.(\d+), default (\d+)\]")
_INCLUDE = re.compile(r'^#include "([\w.-]+)"', re.MULTILINE)
_DECLARATION = re.compile(
    r"^LH_PARAM\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*\"([^\"]*)\"\s*\);", re.MULTILINE
)
_SOCKET_DECLARATION = re.compile(
    r"^LH_SOCKET_PARAM\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*\"([^\"]*)\"\s*\);", re.MULTILINE
)
# Each pattern takes linear time on any text: a source may be untrusted.
_STATIC = re.compile(r"^static ([\w ]*)= (\d{1,20})\s*;", re.MULTILINE)
_ABOUT = re.compile(r'MODULE_PARM_DESC\(\s*(\w+)\s*,\s*"([^"]*)"')
_PLAIN = re.compile(r"^module_param(?:_named)?\(\s*(\w+)\s*,", re.MULTILINE)


def _with_headers(source: Path) -> str:
    text = source.read_text(errors="replace")
    headers = [source.parent / name for name in _INCLUDE.findall(text)]
    return "\n".join([*(header.read_text(errors="replace") for header in headers if header.is_file()), text])


def _declarations(text: str) -> Iterator[Parameter]:
    for name, option, unit, low, high, about in _SOCKET_DECLARATION.findall(text):
        yield Parameter(name, unit, 0, int(low), int(high), about, option)
    for name, unit, default, low, high, about in _DECLARATION.findall(text):
        yield Parameter(name, unit, int(default), int(low), int(high), about)


def _plain_declarations(text: str) -> Iterator[Parameter]:
    defaults: dict[str, int] = {}
    for words, default in _STATIC.findall(text):
        for word in words.split():
            defaults.setdefault(word, int(default))
    abouts: dict[str, str] = {}
    for name, about in _ABOUT.findall(text):
        abouts.setdefault(name, about)
    for name in _PLAIN.findall(text):
        yield Parameter(name, "number", defaults.get(name, 0), 0, _LARGEST, abouts.get(name, ""))


def _read_only_declarations(text: str) -> Iterator[Parameter]:
    """The `const volatile` numbers of a BPF program, which are parameters of its native build."""
    # The project's own modules, whose parameters each command reads, are none.
    from longhaul.orchestrator.modules.bpf import read_only_numbers
    from longhaul.orchestrator.modules.source_text import is_bpf_program

    for kind, name, value in read_only_numbers(text) if is_bpf_program(text) else ():
        default = int(value) if re.fullmatch(r"[0-9]{1,20}", value) else int(value == "true")
        if kind == "bool":
            yield Parameter(name, "switch", default, 0, 1, "")
        else:
            yield Parameter(name, "number", default, 0, _LARGEST, "")


def _thousandths(written: object) -> int | None:
    if isinstance(written, str):
        number, unit = split_quantity(written)
        if unit not in ("", "%"):
            return None
        number = number / 100 if unit else number
    elif isinstance(written, int | float):
        number = Fraction(repr(written))
    else:
        return None
    return _whole_fraction(number * 1000)


def _whole_fraction(number: Fraction) -> int | None:
    return number.numerator if number.denominator == 1 else None


def _whole(value: int, step: int, unit: str) -> int:
    number, rest = divmod(value, step)
    if rest:
        raise ValueError(f"whole {unit} are allowed")
    return number
