"""Recordings of links: imported under their hash, listed, described, made of measurements, and generated.

    file --import--> $LONGHAUL_CACHE/recordings/<sha256>/<name>, which `recording: {file: "sha256:..."}` of an experiment names
    capture, iperf3, flent, kept run, `longhaul hosts measure`, recording --convert--> .csv or .mahi <--generate-- lte, leo

Recordings are read and written piece by piece; a file that is refused leaves nothing behind.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from longhaul.laboratory.recording_sources import (
    CONVERTING,
    Floats,
    Source,
    duration_ns,
    open_recording,
    source_of,
)
from longhaul.orchestrator.plan.placed.recorded_table import FOLDER
from longhaul.orchestrator.recorded_links.chunks import LARGEST_RATE_BPS, NS_PER_S, OPPORTUNITY_BYTES, Ints
from longhaul.orchestrator.recorded_links.formats import LOSSES, MAHIMAHI, TABLE, format_of
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile, content_hash
from longhaul.orchestrator.recorded_links.replay import Window
from longhaul.orchestrator.recorded_links.summary import OUTAGE_NS, SINGLE_ROW_NS
from longhaul.orchestrator.spec.recordings import recording_file
from longhaul.orchestrator.system.errors import PlanError, ResultsError, remedy
from longhaul.orchestrator.system.files import check_places, whole
from longhaul.orchestrator.system.settings import load_settings

_IMPORTING, _GENERATING = "importing the recording", "generating a recording"
_HASH = re.compile("[0-9a-f]{64}")
_NS_PER_MS, _HOUR_NS = 10**6, 3600 * NS_PER_S
# The interval of rates, unless another one is given.
_EVERY_NS = NS_PER_S // 10
# A part of a recording is shown in so many intervals at most.
_MOST_SHOWN = 400
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
    numbers, sha256 = _numbers(recorded), content_hash(recorded.path)
    folder = load_settings().cache / FOLDER / sha256
    if not any(folder.glob("*")):
        _copy(recorded.path, folder)
    reference = f"sha256:{sha256}"
    return {"reference": reference, "name": recording_file(reference, load_settings().cache).name, **numbers}


def recordings() -> list[dict[str, Any]]:
    """A row for each imported recording, in the order of their names: name, reference, bytes."""
    folders = [one for one in (load_settings().cache / FOLDER).glob("*") if _HASH.fullmatch(one.name)]
    rows = [
        {"name": file.name, "reference": f"sha256:{folder.name}", "bytes": file.stat().st_size}
        for folder in folders
        for file in sorted(folder.glob("*"))[:1]
    ]
    return sorted(rows, key=lambda row: (row["name"], row["reference"]))


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
    found = {"file": str(file), **_numbers(recorded)}
    if recorded.format == LOSSES:
        return found
    summary = recorded.summary
    begin_ns = duration_ns(begin, "--from")
    length_ns = _HOUR_NS if length is None else duration_ns(length, "--for")
    if begin_ns >= summary.length_ns or not length_ns:
        at_end = f"{begin} is not before its end, {summary.length_ns / NS_PER_S:g} s"
        what = at_end if length_ns else f"a part of {length} is empty"
        raise PlanError("showing the recording", str(file), what, "choose another part")
    end_ns = min(begin_ns + length_ns, summary.length_ns)
    shown = _shown(recorded, begin_ns, end_ns)
    if summary.mean_bps is None:
        return {**found, "highest_bps": None, "outages": None, "shown": shown}
    outages, shown["outage"] = _outage_numbers(recorded, begin_ns, _edges(begin_ns, end_ns))
    return {**found, "highest_bps": _highest_bps(recorded), "outages": outages, "shown": shown}


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


def _copy(path: Path, folder: Path) -> None:
    """Copy a file into a folder that appears with it."""
    new = folder.with_name(f".new-{os.getpid()}-{folder.name}")
    try:
        new.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, new / path.name)
        if content_hash(new / path.name) != folder.name:
            raise PlanError(_IMPORTING, str(path), "it changed meanwhile", "import it when it is complete")
        try:
            new.replace(folder)
        except OSError:
            # Another process may have imported it.
            if not any(folder.glob("*")):
                raise
    except OSError as error:
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        raise ResultsError(_IMPORTING, str(path), error.strerror or str(error), hint) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


# ---- numbers


def _numbers(recorded: RecordedFile) -> dict[str, Any]:
    """The numbers that one pass over the file gives."""
    summary, found = recorded.summary, {"format": recorded.format}
    if recorded.format == LOSSES:
        return found | {"packets": summary.rows, "lost_packets": summary.lost_packets, "loss": summary.mean_loss}
    delays = {"least": summary.least_delay_ns, "mean": summary.mean_delay_ns, "highest": summary.highest_delay_ns}
    return found | {
        "rows": summary.rows,
        "length_s": summary.length_ns / NS_PER_S,
        "mean_bps": summary.mean_bps,
        "delay_ms": {name: ns / _NS_PER_MS for name, ns in delays.items() if ns is not None} or None,
        "loss": summary.mean_loss,
    }


def _edges(begin_ns: int, end_ns: int) -> Ints:
    """The ends of intervals of a part, from 0 on: 1, 2 or 5 times a power of ten, and at most so many that they can be drawn."""
    length_ns = end_ns - begin_ns
    steps_ns = (digit * 10**power for power in range(6, 18) for digit in (1, 2, 5))
    step_ns = next(one for one in steps_ns if one * _MOST_SHOWN >= length_ns)
    return np.append(np.arange(0, length_ns, step_ns), length_ns)


def _shown(recorded: RecordedFile, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Mean rates, delays and losses of each interval of a part; only the rows of the part are in memory."""
    edges_ns = _edges(begin_ns, end_ns)
    spans_ns, length_ns = np.diff(edges_ns), end_ns - begin_ns
    found: dict[str, Any] = {"from_s": begin_ns / NS_PER_S, "to_s": end_ns / NS_PER_S}
    found["every_s"] = int(spans_ns[0]) / NS_PER_S
    part = recorded.replay(Window(begin_ns, length_ns))
    if recorded.summary.mean_bps is not None:
        # A part in front of the first opportunity has no rows.
        has_rows = bool(part.rows.keys() & {"rates", "opportunities"})
        offered = part.offered_bytes(edges_ns) if has_rows else np.zeros(len(edges_ns), dtype=np.int64)
        # Bytes of the first instant belong to the first interval.
        offered[0] = 0
        found["rate_bps"] = (np.diff(offered) * 8 / (spans_ns / NS_PER_S)).tolist()
    for kind, name, a_unit in (("delays", "delay_ms", _NS_PER_MS), ("losses", "loss", 2**32)):
        if kind in part.rows:
            at, value = part.rows[kind]
            ends = np.append(at, length_ns)
            sums = np.append(0.0, np.cumsum(value * np.diff(ends).astype(np.float64)))
            found[name] = (np.diff(np.interp(edges_ns, ends, sums)) / spans_ns / a_unit).tolist()
    return found


def _highest_bps(recorded: RecordedFile) -> float | None:
    """The highest rate of a row; of opportunities, that of an interval."""
    summary = recorded.summary
    if summary.opportunities is None:
        return summary.highest_bps
    last, unfinished, highest = -1, 0.0, 0.0
    for chunk in recorded.chunks():
        assert chunk.opportunities is not None
        intervals, place = np.unique((np.maximum(chunk.at_ns, 1) - 1) // _EVERY_NS, return_inverse=True)
        sums = np.bincount(place, weights=chunk.opportunities)
        sums[0] += unfinished if intervals[0] == last else 0.0
        last, unfinished, highest = int(intervals[-1]), float(sums[-1]), max(highest, float(sums.max()))
    return highest * 8 * NS_PER_S / _EVERY_NS


def _outage_numbers(recorded: RecordedFile, begin_ns: int, edges_ns: Ints) -> tuple[dict[str, Any], list[float]]:
    """Count, longest and total of all outages, and their share of each interval of a part that begins there."""
    count, longest_ns, total_ns = 0, 0, 0
    ends_ns, sums_ns = [0], [0]
    for first_ns, last_ns in _outages(recorded):
        count, longest_ns, total_ns = count + 1, max(longest_ns, last_ns - first_ns), total_ns + last_ns - first_ns
        first_ns, last_ns = (min(max(one - begin_ns, 0), int(edges_ns[-1])) for one in (first_ns, last_ns))
        if last_ns > first_ns:
            ends_ns += [first_ns, last_ns]
            sums_ns += [sums_ns[-1], sums_ns[-1] + last_ns - first_ns]
    shares = np.diff(np.interp(edges_ns, ends_ns, sums_ns)) / np.diff(edges_ns)
    return {"count": count, "longest_s": longest_ns / NS_PER_S, "total_s": total_ns / NS_PER_S}, shares.tolist()


def _outages(recorded: RecordedFile) -> Iterator[tuple[int, int]]:
    """The begin and the end of each outage: rows with a rate of 0, or a gap between opportunities."""
    begin_ns: int | None = None
    last_ns = 0
    for chunk in recorded.chunks():
        if chunk.opportunities is not None:
            begins_ns = np.append(last_ns, chunk.at_ns[:-1])
            (long,) = np.nonzero(chunk.at_ns - begins_ns > OUTAGE_NS)
            yield from zip(begins_ns[long].tolist(), chunk.at_ns[long].tolist(), strict=True)
            last_ns = int(chunk.at_ns[-1])
        elif chunk.rate_bps is not None:
            stopped = chunk.rate_bps == 0
            (changes,) = np.nonzero(stopped != np.append(begin_ns is not None, stopped[:-1]))
            for at_ns in chunk.at_ns[changes].tolist():
                if begin_ns is None:
                    begin_ns = at_ns
                else:
                    yield begin_ns, at_ns
                    begin_ns = None
    if begin_ns is not None:
        yield begin_ns, recorded.summary.length_ns


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
