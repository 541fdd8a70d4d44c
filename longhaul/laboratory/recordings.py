"""Recordings of links: imported under their hash, listed, described, made of measurements, and generated.

    file --import--> $LONGHAUL_CACHE/recordings/<sha256>/<name>, which `recording: {file: "sha256:..."}` of an experiment names
    capture, iperf3, flent, kept run, `longhaul hosts measure`, recording --convert--> .csv or .mahi <--generate-- lte, leo

Recordings are read and written piece by piece; a file that is refused leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from longhaul.laboratory.recording_sources import (
    CONVERTING,
    Floats,
    Source,
    open_recording,
    source_of,
)
from longhaul.orchestrator.execution.recording_library import duration_ns, keep_copy, kept_recordings, remove
from longhaul.orchestrator.recorded_links.chunks import LARGEST_RATE_BPS, NS_PER_S, OPPORTUNITY_BYTES
from longhaul.orchestrator.recorded_links.description import describe
from longhaul.orchestrator.recorded_links.formats import MAHIMAHI, TABLE, format_of
from longhaul.orchestrator.recorded_links.summary import SINGLE_ROW_NS
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.files import check_places, whole
from longhaul.orchestrator.system.settings import load_settings

_GENERATING = "generating a recording"
_NS_PER_MS = 10**6
# The interval of rates, unless another one is given.
_EVERY_NS = NS_PER_S // 10
# More intervals than this are a mistake in the times of a file.
_MOST_STEPS = 10**8
# Sums of bytes are exact to less than this.
_TOLERANCE_BYTES = 1e-3


def import_recording(
    file: str | Path, *, format: str | None = None, columns: Mapping[str, str] | None = None, step: str | None = None
) -> dict[str, Any]:
    """Copy a recording into the cache under the hash of its content; its reference, its name there, and its numbers.

    It is read as a whole first: PlanError names the line of a malformed file. To import it again changes nothing.
    """
    recorded = open_recording(str(file), format, columns, step)
    return keep_copy(load_settings(), recorded).as_dict()


def recordings() -> list[dict[str, Any]]:
    """A row for each imported recording, in the order of their names: name, reference, bytes, kept_at."""
    return [one.as_dict() for one in kept_recordings(load_settings())]


def remove_recording(reference: str) -> None:
    """Remove an imported recording, `sha256:<hash>`; NotFound. Runs that replayed it remain, and can be run again."""
    remove(load_settings(), reference)


def describe_recording(
    file: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    step: str | None = None,
    begin: str = "0 s",
    length: str | None = None,
) -> dict[str, Any]:
    """A recording in numbers: length, rates, outages, delays, losses; `shown` has means over the intervals of a part of it.

    `file` is a path, or the reference of an imported recording. Without `length` the part is the rest, at most an hour.
    """
    recorded = open_recording(str(file), format, columns, step)
    length_ns = None if length is None else duration_ns(length, "--for")
    return describe(recorded, str(file), duration_ns(begin, "--from"), length_ns)


def convert_recording(
    source: str | Path,
    output: str | Path,
    *,
    every: str | None = None,
    flow: str | None = None,
    link: str | None = None,
    columns: Mapping[str, str] | None = None,
    step: str | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write a recording, .csv or .mahi, of the bytes that arrived in each interval of a measurement, a kept run or another recording.

    The arguments are those of `longhaul recordings convert`; `report` is called with each caveat.
    """
    named, output = str(source), Path(output)
    to = {".csv": TABLE, ".mahi": MAHIMAHI}.get(output.suffix)
    if to is None:
        raise PlanError(CONVERTING, named, f"the name {output} ends in neither .csv nor .mahi", "name such a file")
    if every is not None and to == MAHIMAHI:
        raise PlanError(CONVERTING, named, "a .mahi file has no intervals", "leave out --every, or name a .csv file")
    every_ns = duration_ns(every, "--every") if every else _NS_PER_MS if to == MAHIMAHI else _EVERY_NS
    if every_ns < _NS_PER_MS:
        raise PlanError(CONVERTING, named, f"intervals of {every} are too short", "give 1 ms or more")
    check_places(output)
    found = source_of(named, flow, link, columns, step)
    if found.format == to:
        what = f"its format is {to} already, as that of {output}"
        raise PlanError(CONVERTING, named, what, "name an output of the other format")
    if found.length_ns > every_ns * _MOST_STEPS:
        what = (
            f"its {found.length_ns / NS_PER_S:g} s have more than {_MOST_STEPS} intervals of {every_ns / NS_PER_S:g} s"
        )
        raise PlanError(CONVERTING, named, what, "check its times, or give longer intervals with --every")
    with whole(output) as place, place.open("w") as file:
        if to == TABLE:
            _write_table(file, found, every_ns)
        else:
            _write_opportunities(file, found, named)
    for line in found.notes:
        report(line)
    if found.delay_ms is not None and to == MAHIMAHI:
        report("a .mahi file has no delays: that of the path is left out")
    return output


def generate_recording(
    name: str,
    output: str | Path,
    *,
    length: str = "60 s",
    seed: int = 1,
    parameters: Mapping[str, float] | None = None,
) -> Path:
    """Write a recording from a model, `lte` or `leo`; the same length, seed and parameters give the same file."""
    from longhaul.orchestrator.recorded_links.generators import GENERATORS, generate

    output = Path(output)
    pieces = generate(name, duration_ns(length, "--length") / NS_PER_S, seed, parameters or {})
    if GENERATORS[name].suffix == "csv" and output.suffix != ".csv":
        raise PlanError(_GENERATING, name, f"it is a table, and {output} does not end in .csv", "name such a file")
    if GENERATORS[name].suffix != "csv" and format_of(output) != MAHIMAHI:
        what = f"it is no table, and the name {output} is that of one"
        raise PlanError(_GENERATING, name, what, f"name a .{GENERATORS[name].suffix} file")
    with whole(output) as place, place.open("w") as file:
        file.writelines(pieces)
    return output


# ---- writing


def _write_table(file: IO[str], source: Source, every_ns: int) -> None:
    """A row for each interval. Rates are whole, and each has the rest of the one before it, so that sums stay the same."""
    delay = "" if source.delay_ms is None else f",{source.delay_ms:.6g}"
    file.write("time_s,rate_bps\n" if source.delay_ms is None else "time_s,rate_bps,delay_ms\n")
    at_ns, rest_bits = 0, 0.0
    for steps in source.steps(every_ns):
        for count in steps.tolist():
            span_ns = min(every_ns, source.length_ns - at_ns)
            bits = count * 8 + rest_bits
            bps = max(0, min(round(bits * NS_PER_S / span_ns), LARGEST_RATE_BPS))
            rest_bits = bits - bps * span_ns / NS_PER_S
            file.write(f"{_seconds(at_ns)},{bps}{delay}\n")
            # The last row holds as long as the one before it: a shorter interval is two rows.
            if span_ns != (every_ns if at_ns else SINGLE_ROW_NS) and at_ns + span_ns == source.length_ns:
                file.write(f"{_seconds(at_ns + span_ns // 2)},{bps}{delay}\n")
            at_ns += span_ns


def _seconds(ns: int) -> str:
    return f"{ns // NS_PER_S}.{ns % NS_PER_S:09d}".rstrip("0").rstrip(".")


def _write_opportunities(file: IO[str], source: Source, named: str) -> None:
    """A line for each whole packet, at the end of its millisecond, with the bytes that were left in the millisecond before."""
    begin_ms, rest, last_ms = 0, 0.0, 0
    for steps in source.steps(_NS_PER_MS):
        sums: Floats = rest + np.cumsum(steps)
        packets = np.floor((sums + _TOLERANCE_BYTES) / OPPORTUNITY_BYTES).astype(np.int64)
        stamps_ms = np.repeat(begin_ms + 1 + np.arange(len(steps)), np.diff(packets, prepend=0))
        file.writelines(f"{stamp}\n" for stamp in stamps_ms.tolist())
        rest = float(sums[-1]) - int(packets[-1]) * OPPORTUNITY_BYTES
        begin_ms += len(steps)
        last_ms = int(stamps_ms[-1]) if len(stamps_ms) else last_ms
    if not last_ms:
        what = f"it carries less than one packet of {OPPORTUNITY_BYTES} bytes"
        raise PlanError(CONVERTING, named, what, "name another source, or a .csv file")
    # The last line is the length of the recording too.
    if last_ms < begin_ms:
        file.write(f"{begin_ms}\n")
