"""Recorded links of a run: the numbers that the rest of the plan uses in their place, and the tables that the kernel replays.

spec Recording --open--> RecordedLane (mean rate, least delay) --lay out for one run--> RecordedTable: rows in the cache, named by their hash
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from longhaul.orchestrator.plan.placed.recorded_table import FOLDER, RecordedTable
from longhaul.orchestrator.plan.qdiscs import FRAME_HEADER_BYTES, Impairment
from longhaul.orchestrator.plan.seeds import derive_seed
from longhaul.orchestrator.recorded_links.formats import COLUMNS, LOSSES, TABLE, format_of
from longhaul.orchestrator.spec.fields import DRAWN
from longhaul.orchestrator.spec.graph import Lane
from longhaul.orchestrator.spec.recordings import recording_file
from longhaul.orchestrator.spec.sections.path_model import LinkNumbers, Recording
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.files import whole, write_whole
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.units import format_duration, parse_duration, parse_rate

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.link_parameters import Path
    from longhaul.orchestrator.plan.network import Network
    from longhaul.orchestrator.plan.qdisc_layout import Layout
    from longhaul.orchestrator.recorded_links.chunks import Summary
    from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile

ROWS = "rows"

_NS_PER_US = 1000
# As many rows as the kernel takes in a table.
_MOST_ROWS = 1 << 24
# Offered bytes are kept for so many intervals of a run, each of whole ticks.
_MOST_INTERVALS = 6000
_TICK_US = 10_000

# Columns of a file, hashable.
_Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RecordedLane:
    """A recording as one direction of a link has it; `mean_bps` is None if it has no rates, `least_delay_us` if it has no delays."""

    written: Recording
    subject: str
    mean_bps: int | None
    least_delay_us: int | None
    has_losses: bool


class Offered(NamedTuple):
    """The bytes of frames that a recorded line could carry in each interval of a run; none of another line."""

    every_us: int = 0
    bytes: tuple[int, ...] = ()


def open_recording(written: Recording, subject: str, frame_bytes: int) -> RecordedLane:
    """Read a recording once; PlanError if it is not one."""
    key = _key(written, subject)
    _check_fields(written, subject, key[3])
    summary = _summary(*key)
    mean_bps = None
    if summary.mean_bps is not None:
        bps = summary.mean_bps * written.scale
        if summary.opportunities is not None:
            bps *= frame_bytes / (frame_bytes - FRAME_HEADER_BYTES)
        # The kernel counts bytes a second.
        mean_bps = max(round(bps) // 8 * 8, 8)
        if not summary.mean_bps:
            raise PlanError(
                "reading the recording", _name_of(written), "it never carries anything", "choose another recording"
            )
    return RecordedLane(
        written,
        subject,
        mean_bps,
        None if summary.least_delay_ns is None else summary.least_delay_ns // _NS_PER_US,
        summary.mean_loss is not None,
    )


def _name_of(written: Recording) -> str:
    return written.file or f"the model {written.model}"


def _check_fields(written: Recording, subject: str, kind: str) -> None:
    """Refuse fields that a format does not have."""
    refused = [
        name
        for name, given, has in (
            ("columns", written.columns is not None, kind == TABLE),
            ("step", written.step is not None, kind == TABLE),
            ("between", written.between != "steps", kind == TABLE),
            ("at_end", written.at_end != "wrap", kind != LOSSES),
            ("offset", written.offset == DRAWN or parse_duration(written.offset) > 0, kind != LOSSES),
            ("scale", written.scale != 1, kind != LOSSES),
        )
        if given and not has
    ]
    if refused:
        what = f"a recording of the format {kind} has no such field"
        raise PlanError("compiling", f"{subject}.{refused[0]}", what, "leave it out, or give another format")


def delay_with(recorded: RecordedLane | None, delay_us: int) -> int:
    """The delay of a lane with the least one of its recording; what the recording has more comes from its table."""
    return delay_us + ((recorded.least_delay_us or 0) if recorded else 0)


def _recorded_fields(recorded: RecordedLane, name: str) -> list[str]:
    """The fields of a link in whose place its recording is."""
    prefix = "reverse_" if name.startswith("reverse_") else ""
    fields = [f"{prefix}bandwidth"] if recorded.mean_bps is not None else []
    if recorded.has_losses:
        fields += [f"{prefix}loss", *(["burst"] if not prefix else [])]
    return fields


def check_beside(recorded: RecordedLane, link: LinkNumbers, name: str, *, needs_rate: bool) -> None:
    """PlanError if the link also has a value that its recording has, or if neither has a rate."""
    if needs_rate and recorded.mean_bps is None and link.bandwidth is None:
        what = "the recording has no rates, and there is no bandwidth either"
        raise PlanError("compiling", recorded.subject, what, "give path.bandwidth")
    for field in _recorded_fields(recorded, name):
        if getattr(link, field) is not None:
            kind = "rates" if field.endswith("bandwidth") else "losses"
            what = f"the recording has {kind}, and there is a {field} too"
            raise PlanError("compiling", recorded.subject, what, "leave one out")


def rate_with(recorded: RecordedLane | None, written: str | None, given_bps: int | None) -> int | None:
    """The rate of a lane: its recording's mean if it has rates, or the written one, or the topology's."""
    if recorded is not None and recorded.mean_bps is not None:
        return recorded.mean_bps
    return parse_rate(written) if written is not None else given_bps


def without_losses(recorded: RecordedLane | None, impairment: Impairment) -> Impairment:
    """The impairment without losses, if the recording has them."""
    if recorded is None or not recorded.has_losses:
        return impairment
    return replace(impairment, loss_2p32=0, gemodel_2p32=None)


def refuse_changes(recordings: Mapping[str, RecordedLane], changed: LinkNumbers) -> None:
    """PlanError if a scheduled change alters a value that a link has from its recordings, or its queue."""
    for name, recorded in recordings.items():
        queue = [] if name.startswith("reverse_") else ["buffer", "reorder", "duplicate", "corrupt"]
        for field in (*_recorded_fields(recorded, name), *queue):
            if getattr(changed, field) is not None:
                what = f"the schedule changes the {field} of a recorded link, which stays as it is recorded"
                raise PlanError("compiling", recorded.subject, what, "leave this change out")


def lay_out_recordings(
    path: Path, layout: Layout, network: Network, seed: int, duration_us: int
) -> tuple[tuple[RecordedTable, ...], dict[Lane, Offered]]:
    """The tables of all recorded links of a run, and what their lines could carry."""
    tables: list[RecordedTable] = []
    offered: dict[Lane, Offered] = {}
    state = path.states[0]
    for lane, place in layout.replays.items():
        recorded = state.lanes[lane].recording
        assert recorded is not None
        found, carried = recorded_tables(
            recorded, place[0], network.devices[place], "-".join(lane), seed, duration_us, state.frame_bytes
        )
        tables += found
        if carried is not None:
            offered[lane] = carried
    return tuple(tables), offered


def recorded_tables(
    lane: RecordedLane, node: str, dev: str, name: str, seed: int, duration_us: int, frame_bytes: int
) -> tuple[tuple[RecordedTable, ...], Offered | None]:
    """The tables of one run, whose rows are in the cache afterwards, and what the line could carry in its course."""
    written, key = lane.written, _key(lane.written, lane.subject)
    length_ns = _summary(*key).length_ns
    offset_ns = 0
    if length_ns:
        offset_ns = (
            derive_seed(seed, f"recording {name}") % -(-length_ns // _NS_PER_US) * _NS_PER_US
            if written.offset == DRAWN
            else parse_duration(written.offset) * _NS_PER_US
        )
        if offset_ns >= length_ns:
            what = f"{written.offset} is not before its end, {format_duration(length_ns // _NS_PER_US)}"
            raise PlanError("compiling", f"{lane.subject}.offset", what, "give a shorter one")
        if written.at_end == "cut" and offset_ns + duration_us * _NS_PER_US > length_ns:
            left = format_duration((length_ns - offset_ns) // _NS_PER_US)
            what = f"{left} of the recording are left, and the run takes {format_duration(duration_us)}"
            raise PlanError("compiling", lane.subject, what, "make the run shorter, or give at_end: wrap")
    asked = (key, offset_ns, duration_us, written.scale, written.between, lane.least_delay_us or 0, frame_bytes)
    tables, offered = _laid_out(*asked, lane.subject)
    if not all(_kept(sha256).is_file() for _, sha256, *_ in tables):
        # The cache was cleaned since.
        _laid_out.cache_clear()
        tables, offered = _laid_out(*asked, lane.subject)
    if lane.mean_bps is not None and offered is not None and not any(offered.bytes):
        what = f"it carries nothing within the {format_duration(duration_us)} of the run"
        raise PlanError("compiling", lane.subject, what, "give another offset, or a longer run")
    return tuple(
        RecordedTable(node, dev, kind, f"{FOLDER}/{sha256}.{ROWS}", rows, end, header)
        for kind, sha256, rows, end, header in tables
    ), offered


_Key = tuple[pathlib.Path, int, int, str, _Columns, int | None, str]


def _key(written: Recording, subject: str) -> _Key:
    """What decides what a file contains, its time of change included."""
    try:
        path = _modelled(written) if written.file is None else recording_file(written.file, load_settings().cache)
        found = path.stat()
    except ValueError as error:
        raise PlanError("reading the recording", _name_of(written), str(error)) from None
    except OSError as error:
        raise PlanError(
            "reading the recording", _name_of(written), error.strerror or str(error), f"{subject}.file names its file"
        ) from None
    columns = tuple(sorted((written.columns or {}).items()))
    step_ns = None if written.step is None else parse_duration(written.step) * _NS_PER_US
    return path, found.st_mtime_ns, found.st_size, written.format or format_of(path), columns, step_ns, subject


def _modelled(written: Recording) -> pathlib.Path:
    """The file of a model's recording, made once; PlanError for parameters that it does not have."""
    from longhaul.orchestrator.recorded_links.generators import GENERATORS, generate

    assert written.model is not None
    seconds, parameters = parse_duration(written.length) / 1e6, dict(sorted((written.parameters or {}).items()))
    pieces = generate(written.model, seconds, written.seed, parameters)
    asked = json.dumps([written.model, seconds, written.seed, parameters])
    name = f"{hashlib.sha256(asked.encode()).hexdigest()}.{GENERATORS[written.model].suffix}"
    target = load_settings().cache / FOLDER / "models" / name
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as place, place.open("w") as file:
            file.writelines(pieces)
    return target


@lru_cache(maxsize=8)
def _opened(key: _Key) -> RecordedFile:
    from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile

    path, _, _, kind, columns, step_ns, subject = key
    if unknown := [name for name, _ in columns if name not in COLUMNS]:
        what = f"{unknown[0]!r} is no column"
        raise PlanError("compiling", f"{subject}.columns", what, f"allowed: {', '.join(COLUMNS)}")
    return RecordedFile(path, kind, dict(columns), step_ns)


@lru_cache(maxsize=256)
def _summary(*key: object) -> Summary:
    return _opened(key).summary


@lru_cache(maxsize=32)
def _laid_out(
    key: _Key,
    offset_ns: int,
    duration_us: int,
    scale: float,
    between: str,
    least_delay_us: int,
    frame_bytes: int,
    subject: str,
) -> tuple[tuple[tuple[str, str, int, int, int], ...], Offered | None]:
    import numpy as np

    from longhaul.orchestrator.recorded_links.replay import Window

    opened = _opened(key)
    turns = duration_us * _NS_PER_US // max(opened.summary.length_ns, 1) if opened.format != LOSSES else 0
    if turns * opened.summary.rows > _MOST_ROWS:
        what = f"it is repeated {turns} times in {format_duration(duration_us)}, of {opened.summary.rows} rows each"
        raise PlanError("compiling", subject, what, f"at most {_MOST_ROWS} rows are possible: make the run shorter")
    found = opened.replay(Window(offset_ns, duration_us * _NS_PER_US), scale=scale, interpolate=between == "line")
    tables = []
    for kind, (at, value) in found.rows.items():
        if len(at) > _MOST_ROWS:
            what = f"{len(at)} rows of its {kind} in {format_duration(duration_us)}, at most {_MOST_ROWS} are possible"
            raise PlanError("compiling", subject, what, "make the run shorter")
        if kind == "delays":
            value = value - least_delay_us * _NS_PER_US
        end = opened.lost[1] if opened.format == LOSSES else 0
        header = FRAME_HEADER_BYTES if kind == "opportunities" else 0
        rows = np.column_stack([at, value]).astype("<u8").tobytes()
        if len(at):
            tables.append((kind, _keep(rows), len(at), end, header))
    if not {"rates", "opportunities"} & {*found.rows}:
        return tuple(tables), None
    every_us = -(-duration_us // _MOST_INTERVALS // _TICK_US) * _TICK_US or _TICK_US
    edges = np.append(np.arange(0, duration_us, every_us), duration_us) * _NS_PER_US
    # Opportunities count packets without their frames: of full packets, so many more bytes of frames.
    payload = frame_bytes - (FRAME_HEADER_BYTES if "opportunities" in found.rows else 0)
    offered = found.offered_bytes(edges) * frame_bytes // payload
    # The first interval includes its begin.
    offered[0] = 0
    return tuple(tables), Offered(every_us, tuple(np.diff(offered).tolist()))


def _keep(rows: bytes) -> str:
    """Keep rows under their hash."""
    sha256 = hashlib.sha256(rows).hexdigest()
    target = _kept(sha256)
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, rows)
    return sha256


def _kept(sha256: str) -> pathlib.Path:
    return load_settings().cache / FOLDER / f"{sha256}.{ROWS}"
