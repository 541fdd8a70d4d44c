"""An experiment's text as plain data, with the line of each field; model.py defines the fields.

Only harmless YAML is read (JSON is part of it): mappings, lists and scalars. Tags, anchors, repeated keys and
oversized files are refused; a number in a spelling with two readings (010, 1:30, 1_000) stays text, so that its field
refuses it. A field path joins names with dots; an item of a list is addressed by its `name`, or by its position.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import yaml

from longhaul.orchestrator.system.errors import SpecError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Location = tuple[str | int, ...]

LARGEST_BYTES = 256 * 1024
_DEEPEST = 12
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"[+-]?[0-9]+\.[0-9]*([eE][+-]?[0-9]{1,2})?")
_TRUE = ("true", "yes", "on")
# Characters that no database, XML file or terminal takes for text: control characters, halves of a pair, non-characters.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# Characters that make text look different: the second set of control characters, and those that turn the direction of the rest of
# a line (U+202A to U+202E, U+2066 to U+2069).
_MISLEADING = re.compile("[\x80-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Document:
    """`subject` is its name in errors; `lines` has the fields that were read from a file, `folder` is that file's."""

    subject: str
    data: dict[str, Any]
    lines: dict[Location, int] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)

    def line(self, location: Location) -> int | None:
        """The line of a field, or of the nearest field around it."""
        for length in range(len(location), 0, -1):
            if location[:length] in self.lines:
                return self.lines[location[:length]]
        return None


def read_document(path: Path) -> Document:
    """The document in a file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise SpecError(str(path), [error.strerror or str(error)]) from error
    except UnicodeDecodeError as error:
        raise SpecError(str(path), ["not UTF-8 text"]) from error
    if len(content) > LARGEST_BYTES:
        raise SpecError(str(path), [f"larger than {LARGEST_BYTES // 1024} KiB"])
    return replace(parse_document(str(path), text), folder=path.parent)


def parse_document(subject: str, text: str) -> Document:
    """The document in a text."""
    if len(text) > LARGEST_BYTES:
        raise SpecError(subject, [f"larger than {LARGEST_BYTES // 1024} KiB"])
    lines: dict[Location, int] = {}
    problems: list[str] = []
    data = _compose(subject, text, lines, problems)
    if not problems and not isinstance(data, dict):
        problems.append("not an experiment: a mapping of fields is needed, as in 'experiment: my-first'")
    if problems:
        raise SpecError(subject, problems)
    return Document(subject, data, lines)


def change_document(document: Document, changes: Sequence[str]) -> Document:
    """The document with `path.rtt=100ms` and the like applied, in order."""
    data = copy.deepcopy(document.data)
    for change in changes:
        path, equals, value = change.partition("=")
        subject = f"--set {change}"
        if not equals or not path.strip():
            raise SpecError(subject, ["a field and its value are needed, as in path.rtt=100ms"])
        problems: list[str] = []
        read = _compose(subject, value, {}, problems)
        if problems:
            raise SpecError(subject, problems)
        put(data, path.strip(), read)
    return replace(document, data=data)


def put(data: dict[str, Any], path: str, value: object) -> None:
    """Set the field at a path, making missing mappings; KeyError if a list has no such item."""
    *way, last = locate(data, path)
    place: Any = data
    for key in way:
        if isinstance(place, dict) and not isinstance(place.get(key), dict | list):
            place[key] = {}
        place = place[key]
    place[last] = value


def locate(data: Mapping[str, Any], path: str) -> Location:
    """The keys and positions of a path."""
    location: list[str | int] = []
    place: Any = data
    for part in path.split("."):
        if isinstance(place, list):
            position = _position(place, part, path)
            location.append(position)
            place = place[position]
        else:
            location.append(part)
            place = place.get(part) if isinstance(place, dict) else None
    return tuple(location)


def unreadable(value: object) -> bool:
    """Whether a text, or any text in plain data, contains characters that are not text or make it look different."""
    return _holds(value, _NO_TEXT) or _holds(value, _MISLEADING)


def no_text(value: object) -> bool:
    """Whether a text, or any text in plain data, contains characters that are not text."""
    return _holds(value, _NO_TEXT)


def _holds(value: object, signs: re.Pattern[str]) -> bool:
    if isinstance(value, str):
        return signs.search(value) is not None
    if isinstance(value, Mapping):
        return any(_holds(key, signs) or _holds(inner, signs) for key, inner in value.items())
    return isinstance(value, list) and any(_holds(inner, signs) for inner in value)


def path_of(data: object, location: Location) -> str:
    """A location as users write it: flows.app.cc."""
    parts: list[str] = []
    place: Any = data
    for key in location:
        inside = isinstance(place, list) and isinstance(key, int) and key < len(place)
        item = place[key] if inside else place.get(key) if isinstance(place, dict) else None
        name = item.get("name") if inside and isinstance(item, dict) else None
        parts.append(name if isinstance(name, str) and _unique(place, name) else str(key))
        place = item
    return ".".join(parts)


def _unique(items: Sequence[object], name: str) -> bool:
    return sum(1 for item in items if isinstance(item, dict) and item.get("name") == name) == 1


def _position(items: Sequence[object], part: str, path: str) -> int:
    for position, item in enumerate(items):
        if isinstance(item, dict) and item.get("name") == part:
            return position
    if part.isascii() and part.isdigit() and int(part) < len(items):
        return int(part)
    names = [str(item["name"]) for item in items if isinstance(item, dict) and "name" in item]
    raise KeyError(f"{path}: no {part!r} there; allowed: {', '.join(names) or f'positions 0 to {len(items) - 1}'}")


def _compose(subject: str, text: str, lines: dict[Location, int], problems: list[str]) -> Any:
    try:
        _check_depth(subject, text)
        loader = _LOADER(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = _place_of(error)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise SpecError(subject, [f"{place}{_remedy(f'{error.context} {error.problem}')}"]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise SpecError(subject, [_remedy(str(error))]) from error
    return None if root is None else _Reader(lines, problems).read(root, ())


# What libyaml or PyYAML reports, and what to do about it.
_REMEDIES = (
    ("mapping values are not allowed", "a field begins inside a value; align this line with the fields above, or put a text with a colon in quotes"),
    ("flow mapping", "the brace { is not closed, or a comma is missing between two fields; add } or a comma"),
    ("flow sequence", "the bracket [ is not closed, or a comma is missing between two entries; add ] or a comma"),
    ("quoted scalar", "the quotes do not fit: close them, and write a backslash in single quotes only"),
    ("found character '\\t'", "the line is indented with a tab; indent with spaces"),
    ("cannot start any token", "a value begins with a tab or with one of @ ` %; indent with spaces, or put the value in quotes"),
    ("could not find expected ':'", "a field needs a colon, a space and its value, as in `duration: 30 s`"),
    ("block collection", "an entry of this list is indented otherwise than the others; align them"),
    ("block mapping", "this line does not fit the fields above it; align them, and end each name with a colon and a space"),
    ("alias", "a value begins with * or &; put it in quotes"),
    ("anchor", "a value begins with * or &; put it in quotes"),
    ("single document", "a text has one experiment; remove the line `---` and what follows it"),
    ("document start", "a text has one experiment; write every field in its own line"),
)  # fmt: skip


def _place_of(error: yaml.MarkedYAMLError) -> yaml.Mark | None:
    """A bracket or quote that is never closed is wrong where it opens, not where the text ends."""
    found, opened = error.problem_mark, error.context_mark
    opens = opened is not None and not re.search("block|document", error.context or "")
    if found is None or (opens and opened is not None and opened.line != found.line):
        return opened
    return found


def _remedy(reported: str) -> str:
    remedies = (remedy for fragment, remedy in _REMEDIES if fragment in reported)
    return next(remedies, "not readable here; compare the indentation, colons, commas and quotes with the lines around")


def _check_depth(subject: str, text: str) -> None:
    """PyYAML's composer recurses for every level, in C, limited only by the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST + 1:
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise SpecError(subject, [f"line {line}: nested too deeply"])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Walks the node tree once; nodes met twice are aliases."""

    def __init__(self, lines: dict[Location, int], problems: list[str]) -> None:
        self._lines = lines
        self._problems = problems
        self._seen: set[int] = set()

    def read(self, node: yaml.Node, location: Location) -> Any:
        line = node.start_mark.line + 1
        if id(node) in self._seen or len(location) > _DEEPEST:
            self._refuse(line, "anchors and aliases are not read" if id(node) in self._seen else "nested too deeply")
            return None
        self._seen.add(id(node))
        self._lines.setdefault(location, line)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.read(item, (*location, position)) for position, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._refuse(line, f"tags are not read ({node.tag})")
        return None

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(line, "the name of a field must be one word")
                continue
            # The text, not YAML's type: `on`, `off`, `no` and 5 are valid names of fields.
            key = str(key_node.value)
            if unreadable(key):
                self._refuse(line, "control characters are not allowed")
                continue
            if key in data:
                self._refuse(line, f"{'.'.join(map(str, (*location, key)))}: given twice")
                continue
            self._lines[*location, key] = line
            data[key] = self.read(value_node, (*location, key))
        return data

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text, kind = str(node.value), node.tag.removeprefix(_TAG)
        if unreadable(text):
            self._refuse(node.start_mark.line + 1, "control characters are not allowed")
            return None
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in _TRUE
        if kind == "int" and _INTEGER.fullmatch(text):
            return int(text)
        if kind == "float" and _DECIMAL.fullmatch(text):
            return float(text)
        if kind in ("str", "int", "float", "timestamp", "merge", "value"):
            return text
        self._refuse(node.start_mark.line + 1, f"tags are not read ({node.tag})")
        return None

    def _refuse(self, line: int, what: str) -> None:
        self._problems.append(f"line {line}: {what}")


def document_text(data: Mapping[str, Any], remarks: Sequence[str] = ()) -> str:
    """Plain data as a file that reads back as the same data, with remarks on top."""
    top = "".join(f"# {' '.join(line.split())}\n" for line in remarks)
    return top + yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=120)
