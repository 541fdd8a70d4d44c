"""The recordings that an experiment names: where they are in it, and their files."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from longhaul.orchestrator.spec.fields import SINGLE
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.path_model import Link, Path, Recording
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


def with_whole_files(data: Mapping[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Those fields of an experiment in which files of recordings stand, with absolute paths."""
    whole: dict[str, Any] = {}
    if isinstance(path := data.get("path"), Mapping) and any(name in path for name in FIELDS):
        whole["path"] = _whole_link(path, folder)
    if isinstance(links := data.get("links"), Mapping):
        whole["links"] = {
            name: _whole_link(link, folder) if isinstance(link, Mapping) else link for name, link in links.items()
        }
    if isinstance(sweep := data.get("sweep"), Mapping):
        whole["sweep"] = {
            field: [_whole(value, folder) for value in values]
            if is_recording(field) and isinstance(values, list)
            else values
            for field, values in sweep.items()
        }
    elif isinstance(sweep, list):
        whole["sweep"] = [
            {field: _whole(value, folder) if is_recording(field) else value for field, value in point.items()}
            if isinstance(point, Mapping)
            else point
            for point in sweep
        ]
    return whole


def is_recording(field: object) -> bool:
    """Whether a swept field is a recording, or the file of one."""
    return isinstance(field, str) and field.removesuffix(".file").rpartition(".")[2] in FIELDS


def _whole_link(link: Mapping[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    return {
        name: _whole(value, folder) if name in FIELDS and isinstance(value, Mapping) else value
        for name, value in link.items()
    }


def _whole(file: object, folder: pathlib.Path) -> object:
    if isinstance(file, Mapping):
        return {**file, "file": _whole(file["file"], folder)} if "file" in file else file
    if not isinstance(file, str) or file.startswith("sha256:"):
        return file
    return str((folder / file).resolve())
