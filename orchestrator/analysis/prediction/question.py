"""The question of a prediction: how much to transfer, over which path, with which congestion controls and numbers of streams.

A path is written in one line, "2 Gbit/s, 280 ms, loss 1e-5, buffer 20 ms", or is the document of `longhaul hosts measure --json`. Its
fields are those of an experiment's `path`. What an experiment would refuse is refused here, with the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul.orchestrator.spec.congestion_controls import find_control
from longhaul.orchestrator.system.errors import PlanError, UnknownName
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate, parse_duration, parse_rate, parse_size

# What `all` means: the controls of Linux that hosts have without building a module and that suit long transfers.
USUAL_CONTROLS = ("cubic", "bbr", "htcp")
USUAL_STREAMS = (1, 4)
# The relative half width at which an interval is close enough.
USUAL_WITHIN = 0.05
MOST_STREAMS, MOST_CANDIDATES = 64, 24
_LEAST_BYTES = 10_000
_ATTEMPT = "reading the path"
_EXAMPLE = 'write it as in "2 Gbit/s, 280 ms, loss 1e-5, buffer 20 ms"'
# Fields of a path that a line may name; a rate and a time without a name are its bandwidth and its round trip.
_NAMED = (
    "loss",
    "buffer",
    "rtt",
    "bandwidth",
    "reverse_loss",
    "reverse_bandwidth",
    "jitter",
    "reorder",
    "mtu",
    "queue",
    "ecn",
)
# Fields of a path in the document of a question; a recorded link would be a file of the machine that answers.
_ALLOWED = (*_NAMED, "one_way", "burst", "duplicate", "corrupt", "mark_at", "offloads")
# Fields of a measured path that are needed.
_MEASURED = ("rate_bps", "least_rtt_us", "queue_us", "loss")


@dataclass(frozen=True, slots=True)
class Question:
    """A transfer and its path; every combination of a control and a number of streams is a candidate."""

    size_bytes: int
    path: Mapping[str, Any]
    controls: tuple[str, ...]
    streams: tuple[int, ...]

    def as_document(self) -> dict[str, Any]:
        """The question in the document of a prediction."""
        return {
            "size_bytes": self.size_bytes,
            "path": dict(self.path),
            "controls": list(self.controls),
            "streams": list(self.streams),
        }


def ask(
    size: str | int,
    path: str | Mapping[str, Any],
    controls: str | Sequence[str] = "all",
    streams: str | Sequence[int] = USUAL_STREAMS,
) -> Question:
    """A question from what a user writes; PlanError."""
    found = Question(read_size(size), read_path(path), read_controls(controls), read_streams(streams))
    if (count := len(found.controls) * len(found.streams)) > MOST_CANDIDATES:
        what = f"{len(found.controls)} congestion controls with {len(found.streams)} numbers of streams are {count} candidates"
        raise PlanError("predicting", "a transfer", what, f"ask for at most {MOST_CANDIDATES}")
    return found


def read_size(size: str | int) -> int:
    """Bytes of '2 TB'."""
    try:
        count = size if isinstance(size, int) and not isinstance(size, bool) else parse_size(str(size))
    except ValueError as error:
        raise PlanError("reading the size", str(size)[:60], str(error), "write it as in 2 TB") from None
    if count < _LEAST_BYTES:
        raise PlanError(
            "reading the size", str(size)[:60], f"it is less than {_LEAST_BYTES} bytes", "write it as in 2 TB"
        )
    return count


def read_path(path: str | Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an experiment's path from a line, from a measured path, or from those fields themselves."""
    if isinstance(path, str):
        fields = _from_line(path)
    elif "least_rtt_us" in path:
        fields = measured_fields(path)
    else:
        fields = dict(path)
    unknown = sorted(set(map(str, fields)) - set(_ALLOWED))
    if unknown:
        raise PlanError(
            _ATTEMPT, ", ".join(unknown)[:60], "a path has no such field", f"its fields: {', '.join(_NAMED)}"
        )
    for needed, example in (("bandwidth", "2 Gbit/s"), ("rtt", "280 ms")):
        if needed not in fields and not (needed == "rtt" and "one_way" in fields):
            raise PlanError(_ATTEMPT, str(path)[:60], f"it has no {needed}", f"give one, as in {example}; {_EXAMPLE}")
    return fields


def _from_line(line: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in filter(None, (one.strip() for one in line.split(","))):
        name, _, value = part.partition(" ")
        if name not in _NAMED:
            name, value = _unnamed(part), part
        if name in fields:
            raise PlanError(_ATTEMPT, line[:60], f"it has two values of {name}", "give one")
        fields[name] = int(value) if name == "mtu" and value.strip().isdigit() else value.strip()
    return fields


def _unnamed(part: str) -> str:
    for name, parse in (("bandwidth", parse_rate), ("rtt", parse_duration)):
        try:
            parse(part)
        except ValueError:
            continue
        return name
    raise PlanError(_ATTEMPT, part[:60], "it is neither a rate, a round trip nor a named field", _EXAMPLE)


def measured_fields(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an experiment's path that replay a measured one (the document of `longhaul hosts measure --json`)."""
    missing = [name for name in _MEASURED if not isinstance(measured.get(name), int | float)]
    if missing:
        what = f"it has no number for {', '.join(missing)}"
        raise PlanError(
            _ATTEMPT, "the measured path", what, "give the output of `longhaul hosts measure FROM TO --json`"
        )
    fields: dict[str, Any] = {
        "bandwidth": format_rate(int(measured["rate_bps"])),
        "rtt": format_duration(round(measured["least_rtt_us"], -2) or 100),
        "buffer": format_duration(round(measured["queue_us"], -2)),
    }
    if measured.get("jitter_us"):
        fields["jitter"] = format_duration(round(measured["jitter_us"], -2))
    if burst := measured.get("burst"):
        fields["burst"] = {"p": float(f"{burst[0]:.3g}"), "r": float(f"{burst[1]:.3g}")}
    elif measured["loss"]:
        fields["loss"] = float(f"{measured['loss']:.3g}")
    return fields


def read_controls(controls: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the congestion controls, each once; `all` is USUAL_CONTROLS."""
    names = [one.strip() for one in controls.split(",")] if isinstance(controls, str) else list(controls)
    if names == ["all"]:
        return USUAL_CONTROLS
    try:
        found = tuple(dict.fromkeys(find_control(name).name for name in names))
    except UnknownName as error:
        raise PlanError(
            "reading the congestion controls", ", ".join(names)[:60], "one is unknown", str(error)
        ) from None
    if not found:
        raise PlanError("reading the congestion controls", "none", "there is no candidate", "name one, as in cubic")
    return found


def read_streams(streams: str | Sequence[int]) -> tuple[int, ...]:
    """The numbers of streams, each once."""
    try:
        numbers = tuple(
            dict.fromkeys(int(one) for one in (streams.split(",") if isinstance(streams, str) else streams))
        )
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or min(numbers) < 1 or max(numbers) > MOST_STREAMS:
        what = f"numbers of streams are 1 to {MOST_STREAMS}"
        raise PlanError("reading the streams", str(streams)[:60], what, "write them as in 1,4,16")
    return numbers
