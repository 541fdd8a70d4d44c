"""The kinds of field in an experiment, each checked but kept as written: "622 Mbit/s" stays text until plan/compile.py.

A refused value raises with one phrase, what is allowed there; load.py adds the field's path and the value before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from longhaul.orchestrator.spec.user_code.user_modules import entry_of
from longhaul.orchestrator.spec.values.meant import meant_name, meant_quantity, meant_switch, meant_word
from longhaul.orchestrator.spec.values.queue_sizes import (
    buffer_size,
    likely_buffer,
    mark_threshold,
    step_threshold,
    window_size,
)
from longhaul.orchestrator.system.units import (
    DURATION_UNITS,
    RATE_UNITS,
    SIZE_UNITS,
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_multiple,
    parse_rate,
    parse_share,
    parse_size,
)

# The type of the error that a field's own check raises; load.py renders it.
REFUSED = "refused"

# The kind of ECN whose receiver counts the marks for its sender (RFC 9768).
ACCURATE = "accurate"

# A plain link as one qdisc of the project, or as the kernel's: netem, tbf and a fifo.
SINGLE, CHAIN = "single", "chain"
EMULATIONS = (SINGLE, CHAIN)

# A recording begins at an instant that the run's seed draws.
DRAWN = "drawn"

# A run in as many guests as pay on this machine, or in a given number of them.
AUTO = "auto"
MOST_PARTS = 16

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME = 60
_UNITS = (*RATE_UNITS, *DURATION_UNITS, *SIZE_UNITS, "packets", "BDP", "RTT")
_HOST = re.compile(r"[A-Za-z*?][A-Za-z0-9_*?-]{0,31}")


def refuse(allowed: str, meant: str | None = None) -> PydanticCustomError:
    """The error of a value that is not allowed, and the value that was probably meant."""
    return PydanticCustomError(REFUSED, "{allowed}", {"allowed": allowed, "meant": meant})


def _quantity(
    parse: Callable[[str], int],
    noun: str,
    units: Iterable[str],
    form: Callable[[int], str],
    low: int,
    high: int,
    *,
    usual: str,
) -> BeforeValidator:
    """A quantity between bounds; a number without a unit was probably meant in the usual one."""
    allowed = f"a {noun} from {form(low)} to {form(high)}"

    def accept(text: str) -> None:
        if not low <= parse(text) <= high:
            raise ValueError(allowed)

    def check(value: object) -> object:
        if not isinstance(value, str):
            meant = meant_quantity(value, units, [usual], accept)
            raise refuse(f"{allowed}, with its unit ({', '.join(units)})", meant)
        try:
            number = parse(value)
        except ValueError as error:
            raise refuse(f"{allowed}; {error}", meant_quantity(value, units, [usual], accept)) from error
        if not low <= number <= high:
            raise refuse(allowed)
        return value.strip()

    return BeforeValidator(check)


def _whole_bytes(value: str) -> str:
    if parse_rate(value) % 8:
        raise refuse("a rate that is a multiple of 8 bit/s: the kernel counts bytes")
    return value


def _checked(
    parse: Callable[[str], object], usual: Sequence[str], likely: Callable[[str], object] | None = None
) -> BeforeValidator:
    """A text that `parse` accepts; a number without a unit was probably meant in the first usual one that is likely."""

    def check(value: object) -> object:
        text = value if isinstance(value, str) else "" if value is None else str(value)
        try:
            parse(text)
        except ValueError as error:
            raise refuse(str(error), meant_quantity(value, _UNITS, usual, likely or parse)) from error
        return text.strip()

    return BeforeValidator(check)


def _share(value: object) -> object:
    try:
        parse_share(value)  # type: ignore[arg-type]
    except ValueError as error:
        raise refuse(str(error), meant_quantity(value, ["%"], ["%"], parse_share)) from error
    return value if isinstance(value, str) else float(value)  # type: ignore[arg-type]


def _switch(value: object) -> object:
    if isinstance(value, bool):
        return value
    if value in ("on", "off"):
        return value == "on"
    raise refuse("on or off", meant_switch(value))


def _ecn(value: object) -> object:
    if value == ACCURATE:
        return value
    try:
        return _switch(value)
    except PydanticCustomError:
        raise refuse(f"on, off or {ACCURATE}", meant_switch(value) or meant_word(value, [ACCURATE])) from None


def _ect(value: object) -> object:
    if value in (0, 1) and not isinstance(value, bool):
        return value
    raise refuse("0 or 1")


def _parts(value: object) -> object:
    if value == AUTO or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_PARTS):
        return value
    raise refuse(f"{AUTO}, or a number from 1 to {MOST_PARTS}")


def _name(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not _is_name(value):
        allowed = f"a name of a-z, 0-9 and single dashes between them, up to {_LONGEST_NAME} characters"
        raise refuse(allowed, meant_name(value, _LONGEST_NAME) if isinstance(value, str) else None)
    return value


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None and len(value) <= _LONGEST_NAME


def _host_name(value: object) -> object:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise refuse("a host of the topology, as in a1, or a pattern, as in a*")
    return value


def _sample(value: object) -> object:
    if value == "every-ack":
        return value
    try:
        if isinstance(value, str) and parse_duration(value) > 0:
            return value
    except ValueError:
        pass
    raise refuse("every-ack, or an interval as in 10 ms")


def _jitter_of_start(text: str) -> None:
    try:
        if parse_multiple(text, "RTT") is None:
            parse_duration(text)
    except ValueError:
        raise ValueError("a duration, or a multiple of the base round trip as in 1 RTT; 0 s switches it off") from None


def _amount(value: object) -> object:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise refuse("a number, or a quantity with its unit")
    return value


def _parameter_value(value: object) -> object:
    if not isinstance(value, bool | int | float | str):
        raise refuse("on, off, a number, or a quantity with its unit")
    return value


def _sweep(value: object) -> object:
    if value is None or (
        isinstance(value, dict) and value and all(isinstance(values, list) and values for values in value.values())
    ):
        return value
    if isinstance(value, list) and value and all(isinstance(point, dict) and point for point in value):
        return value
    raise refuse(
        "fields and a list of values each, as in {path.rtt: [2 ms, 32 ms]}, or a list of points as in [{path.rtt: 2 ms}]"
    )


def _module_entry(value: object) -> object:
    if entry_of(value) is None:
        raise refuse(
            "a folder, an archive or a git+URL of a module's source, an object (.ko), or {from: ./mymodule, as: mine}"
        )
    return value


def _offset_of_recording(text: str) -> None:
    if text != DRAWN:
        parse_duration(text)


def one_of(*values: str) -> Any:
    """A field with a few known values."""

    def check(value: object) -> object:
        if value not in values:
            quotes = ", in quotes" if isinstance(value, float) else ""
            raise refuse(f"one of {', '.join(values)}{quotes}", meant_word(value, values))
        return value

    return Annotated[str, BeforeValidator(check), WithJsonSchema({"type": "string", "enum": list(values)})]


def matching(pattern: str, examples: Sequence[str], allowed: str) -> Any:
    """A field whose text matches a pattern, which `allowed` describes."""
    whole = re.compile(pattern)

    def check(value: object) -> object:
        if not (isinstance(value, str) and whole.fullmatch(value)):
            quoted = isinstance(value, float) and whole.fullmatch(str(value))
            raise refuse(
                f"{allowed}{', in quotes' if isinstance(value, float) else ''}", str(value) if quoted else None
            )
        return value

    schema = {"type": "string", "pattern": pattern, "examples": list(examples)}
    return Annotated[str, BeforeValidator(check), WithJsonSchema(schema)]


def _schema(quantity: str, *examples: str, kind: str | list[str] = "string") -> WithJsonSchema:
    """JSON schema for editors: the quantity of a field, and examples of it."""
    return WithJsonSchema({"type": kind, "x-quantity": quantity, "examples": list(examples)})


_SECOND = 10**6
_ANY = ["boolean", "number", "string"]

Name = Annotated[str, BeforeValidator(_name), _schema("name")]
HostName = Annotated[str, BeforeValidator(_host_name), _schema("host", "a1")]
Rate = Annotated[
    str,
    _quantity(parse_rate, "rate", RATE_UNITS, format_rate, 10**3, 10**11, usual="Mbit/s"),
    _schema("rate", "622 Mbit/s", "1 Gbit/s"),
]
LineRate = Annotated[Rate, AfterValidator(_whole_bytes)]
Duration = Annotated[
    str,
    _quantity(parse_duration, "duration", DURATION_UNITS, format_duration, 0, 10**6 * _SECOND, usual="s"),
    _schema("duration", "10 s", "200 ms"),
]
Period = Annotated[
    str,
    _quantity(parse_duration, "duration", DURATION_UNITS, format_duration, 1, 10**6 * _SECOND, usual="s"),
    _schema("duration", "60 s", "5 min"),
]
Jitter = Annotated[
    str,
    _quantity(parse_duration, "duration", DURATION_UNITS, format_duration, 0, 2 * _SECOND, usual="ms"),
    _schema("duration", "2 ms"),
]
RoundTrip = Annotated[
    str,
    _quantity(parse_duration, "round-trip time", DURATION_UNITS, format_duration, 1, 100 * _SECOND, usual="ms"),
    _schema("duration", "40 ms", "300 ms"),
]
OneWayTime = Annotated[
    str,
    _quantity(parse_duration, "one-way time", DURATION_UNITS, format_duration, 0, 100 * _SECOND, usual="ms"),
    _schema("duration", "20 ms"),
]
Size = Annotated[
    str, _quantity(parse_size, "size", SIZE_UNITS, format_size, 1, 10**15, usual="MB"), _schema("size", "2 GB", "64 KB")
]
BucketSize = Annotated[
    str, _quantity(parse_size, "size", SIZE_UNITS, format_size, 1, 10**9, usual="KB"), _schema("size", "100 KB")
]
Share = Annotated[str | float, BeforeValidator(_share), _schema("share", "1e-5", "0.1 %", kind=["number", "string"])]
Switch = Annotated[bool, BeforeValidator(_switch), WithJsonSchema({"enum": ["on", "off"], "x-quantity": "switch"})]
Ecn = Annotated[
    bool | str, BeforeValidator(_ecn), WithJsonSchema({"enum": ["on", "off", ACCURATE], "x-quantity": "ecn"})
]
Ect = Annotated[int, BeforeValidator(_ect), WithJsonSchema({"type": "integer", "enum": [0, 1]})]
PartCount = Annotated[
    int | str,
    BeforeValidator(_parts),
    WithJsonSchema(
        {
            "type": ["integer", "string"],
            "minimum": 1,
            "maximum": MOST_PARTS,
            "pattern": f"^{AUTO}$",
            "x-quantity": "parts",
            "examples": [AUTO, 2],
        }
    ),
]
BufferSize = Annotated[
    str,
    _checked(buffer_size, ["BDP", "packets"], likely_buffer),
    _schema("buffer", "1 BDP", "100 packets", "64 KB", "20 ms"),
]
MarkThreshold = Annotated[str, _checked(mark_threshold, ["packets"]), _schema("mark", "20 packets", "30 KB")]
StepThreshold = Annotated[str, _checked(step_threshold, ["ms"]), _schema("step", "1 ms", "5 packets")]
WindowSize = Annotated[str, _checked(window_size, ["packets"]), _schema("window", "20 packets", "64 KB")]
RecordingOffset = Annotated[str, _checked(_offset_of_recording, ["s"]), _schema("duration", "30 s", DRAWN)]
StartJitter = Annotated[str, _checked(_jitter_of_start, ["RTT"]), _schema("duration", "1 RTT", "0 s")]
_CONTROL_NAME = "^[a-z][a-z0-9_]{0,14}$"
ModuleEntry = Annotated[
    Any,
    BeforeValidator(_module_entry),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "from": {
                            "type": "string",
                            "description": "the folder, archive, git+URL, object or sha256:<hash>",
                        },
                        "as": {
                            "anyOf": [
                                {"type": "string", "pattern": _CONTROL_NAME},
                                {
                                    "type": "object",
                                    "minProperties": 1,
                                    "additionalProperties": {"type": "string", "pattern": _CONTROL_NAME},
                                },
                            ],
                            "description": "the name of its congestion control in this experiment; of several controls, {theirs: mine}",
                        },
                    },
                    "required": ["from", "as"],
                    "additionalProperties": False,
                },
                {"type": "string"},
            ]
        }
    ),
]
Amount = Annotated[Any, BeforeValidator(_amount), _schema("amount", kind=["null", "number", "string"])]
ParameterValue = Annotated[Any, BeforeValidator(_parameter_value), _schema("parameter", kind=_ANY)]
Sweep = Annotated[Any, BeforeValidator(_sweep), WithJsonSchema({"type": ["array", "null", "object"]})]
Sample = Annotated[str, BeforeValidator(_sample), _schema("sample", "every-ack", "10 ms")]
