"""The recordings that an experiment names: where they are in it, and their files."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from longhaul.orchestrator.spec.fields import SINGLE
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sections.path_model import Link, Path, Recording
from longhaul.orchestrator.spec.yaml_text import Location

FIELDS = ("recording", "reverse_recording")
IMPORTED = "an imported recording, as sha256:<hash>"
_REFERENCE = re.compile(r"sha256:([0-9a-f]{64})")


def is_imported(file: str) -> bool:
    """Whether it names an imported recording by its hash."""
    return _REFERENCE.fullmatch(file) is not None


def recording_file(file: str, cache: pathlib.Path) -> pathlib.Path:
    """The file of a recording; ValueError states what is needed instead."""
    match = _REFERENCE.fullmatch(file)
    if match is None:
        if file.startswith("sha256:"):
            raise ValueError("needed: sha256: and 64 hexadecimal digits")
        return pathlib.Path(file)
    found = sorted(one for one in (cache / "recordings" / match[1]).glob("*") if one.name[0] != ".")
    if not found:
        raise ValueError("no recording with this hash was imported here: `longhaul recordings import FILE` imports one")
    return found[0]


def _links_of(experiment: Experiment) -> Iterator[tuple[Location, Path | Link]]:
    yield ("path",), experiment.path
    for name, link in experiment.links.items():
        yield ("links", name), link


def recordings_of(experiment: Experiment) -> Iterator[tuple[Location, Recording]]:
    """Every recording with its place in the experiment."""
    for at, link in _links_of(experiment):
        for name in FIELDS:
            if (recording := getattr(link, name)) is not None:
                yield (*at, name), recording


# Fields of the one and of the other, by their defaults.
_OF_FILES = ("format", "columns", "step", "between")
_OF_MODELS = ("parameters", "length", "seed")


def _source_breaches(at: Location, recording: Recording) -> Iterator[tuple[Location, object, str]]:
    """A recording has either a file or a model, and their own fields."""
    if (recording.file is None) == (recording.model is None):
        yield (
            at,
            None,
            "one of file and model is needed" if recording.file is None else "file and model exclude each other",
        )
        return
    source, others = ("file", _OF_MODELS) if recording.model is None else ("model", _OF_FILES)
    for name in others:
        if getattr(recording, name) != Recording.model_fields[name].default:
            yield (*at, name), None, f"no value beside {source}"


def recording_breaches(experiment: Experiment) -> Iterator[tuple[Location, object, str]]:
    """Broken rules, as in rules.py: a recorded link is one qdisc with a drop-tail queue."""
    for location, recording in recordings_of(experiment):
        yield from _source_breaches(location, recording)
    for at, link in _links_of(experiment):
        if link.recording is None and link.reverse_recording is None:
            continue
        queue = link.queue or experiment.path.queue
        if link.recording is not None and queue != "droptail":
            yield (*at, "queue"), queue, "droptail: the queue of a recorded link"
        if experiment.emulation != SINGLE:
            yield ("emulation",), experiment.emulation, f"{SINGLE}: netem and tbf cannot replay a recording"
        if experiment.path.offloads:
            yield ("path", "offloads"), None, "off: a recorded link carries frames, not trains of them"
        for name in ("reorder", "duplicate", "corrupt"):
            if getattr(link, name) is not None:
                yield (*at, name), getattr(link, name), "no value on a recorded link"


Fields = Mapping[str, Any]


def with_whole_files(data: Fields, folder: pathlib.Path) -> dict[str, Any]:
    """Those fields of an experiment in which files of recordings stand, with absolute paths."""

    def whole(recording: Fields) -> Fields:
        file = recording["file"]
        if not isinstance(file, str) or file.startswith("sha256:"):
            return recording
        return {**recording, "file": str((folder / file).resolve())}

    return with_recordings(data, whole)


def with_recordings(data: Fields, change: Callable[[Fields], Fields]) -> dict[str, Any]:
    """Those fields of an experiment in which files of recordings stand, with each recording that has a file changed.

    Of a swept file, `change` gets the recording of its link with this file.
    """
    changed: dict[str, Any] = {}
    if isinstance(path := data.get("path"), Mapping) and any(name in path for name in FIELDS):
        changed["path"] = _changed_link(path, change)
    if isinstance(links := data.get("links"), Mapping):
        changed["links"] = {
            name: _changed_link(link, change) if isinstance(link, Mapping) else link for name, link in links.items()
        }

    def swept(field: str, value: object) -> object:
        return _changed_value(_recording_at(data, field), value, change) if is_recording(field) else value

    if isinstance(sweep := data.get("sweep"), Mapping):
        changed["sweep"] = {
            field: [swept(field, value) for value in values] if isinstance(values, list) else values
            for field, values in sweep.items()
        }
    elif isinstance(sweep, list):
        changed["sweep"] = [
            {field: swept(field, value) for field, value in point.items()} if isinstance(point, Mapping) else point
            for point in sweep
        ]
    return changed


def is_recording(field: object) -> bool:
    """Whether a swept field is a recording, or the file of one."""
    return isinstance(field, str) and field.removesuffix(".file").rpartition(".")[2] in FIELDS


def _recording_at(data: Fields, field: str) -> Fields:
    """The recording of the link of a swept field, as the experiment has it; empty if there is none."""
    found: object = data
    for name in field.removesuffix(".file").split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _changed_link(link: Fields, change: Callable[[Fields], Fields]) -> dict[str, Any]:
    return {
        name: change(value) if name in FIELDS and isinstance(value, Mapping) and "file" in value else value
        for name, value in link.items()
    }


def _changed_value(recording: Fields, value: object, change: Callable[[Fields], Fields]) -> object:
    """A swept recording, or a swept file of one."""
    if isinstance(value, Mapping):
        return change(value) if "file" in value else value
    return change({**recording, "file": value})["file"]
