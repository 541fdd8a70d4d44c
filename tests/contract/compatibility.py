"""Whether a newer reference keeps what an older one promised: additions pass, removals and restrictions are reported.

    breaks(old, new)  -->  one sentence for each promise that is broken

A valid request has to stay valid: nothing is removed, nothing more is required, no value is refused. A client has to understand
responses as before: no field that was always present is removed or becomes null. Under another major path (/api/v2 next to or
instead of /api/v1) everything is new and not compared with the old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_MAJOR = re.compile(r"^/api/v(\d+)(?=/|$)")
_SCOPES = (None, "read", "run", "gate", "admin")
# Bounds of texts, numbers and lists: a bound that may only rise, or only fall.
_UPPER = ("maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties")
_LOWER = ("minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties")
_DEEPEST = 30

_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}Z_[0-9a-f]{1,32}$"
# Patterns that match all that an earlier one did, and more: the beginning of an id, and a cursor with a value in front.
_WIDER = {
    r"^[0-9a-f]{20}$": r"^[0-9a-f]{8,20}$",
    r"^[0-9a-f]{16}$": r"^[0-9a-f]{8,16}$",
    rf"^{_MOMENT}": rf"^([^\x00-\x1f\x7f]{{0,200}}_)?{_MOMENT}",
}


def breaks(old: Json, new: Json) -> list[str]:
    """Every promise of the old reference that the new one breaks."""
    gone = _majors(old) - _majors(new)
    followed = max(_majors(new), default=0) > max(_majors(old), default=0)
    found: list[str] = []
    for path, item in old["paths"].items():
        major = _MAJOR.match(path)
        if major and int(major[1]) in gone and followed:
            continue
        for method, operation in item.items():
            name = f"{method.upper()} {path}"
            if (other := new["paths"].get(path, {}).get(method)) is None:
                found.append(f"{name}: it is gone")
            else:
                found += [f"{name}: {what}" for what in _Pair(old, new).operation(operation, other)]
    return list(dict.fromkeys(found))


def _majors(document: Json) -> set[int]:
    return {int(match[1]) for path in document["paths"] if (match := _MAJOR.match(path))}


class _Pair:
    """Two references, whose schemas refer to their own components."""

    def __init__(self, old: Json, new: Json) -> None:
        self._old, self._new = old, new

    def operation(self, old: Json, new: Json) -> Iterator[str]:
        """The broken promises of one operation."""
        if _SCOPES.index(new.get("x-scope")) > _SCOPES.index(old.get("x-scope")):
            yield f"it needs the scope {new['x-scope']}"
        yield from self._parameters(old, new)
        yield from self._body(old.get("requestBody"), new.get("requestBody"))
        for status, answer in old["responses"].items():
            if not status.startswith("2"):
                continue
            if (other := new["responses"].get(status)) is None:
                yield f"it does not answer {status} any more"
                continue
            for media, content in answer.get("content", {}).items():
                if (found := other.get("content", {}).get(media)) is None:
                    yield f"its answer is not to be had as {media} any more"
                else:
                    yield from self._answer(content.get("schema", {}), found.get("schema", {}), "its answer", 0)

    def _parameters(self, old: Json, new: Json) -> Iterator[str]:
        before = {(one["in"], one["name"].lower()): one for one in old.get("parameters", [])}
        after = {(one["in"], one["name"].lower()): one for one in new.get("parameters", [])}
        for key, one in before.items():
            where = f"parameter {one['name']}"
            if (other := after.get(key)) is None:
                yield f"{where}: it is gone"
                continue
            if other.get("required") and not one.get("required"):
                yield f"{where}: it is required"
            yield from self._question(one["schema"], other["schema"], where, 0)
        for key in after.keys() - before.keys():
            if after[key].get("required"):
                yield f"parameter {after[key]['name']}: it is new and required"

    def _body(self, old: Json | None, new: Json | None) -> Iterator[str]:
        if old is None:
            if new is not None and new.get("required"):
                yield "body: it is new and required"
            return
        for media, content in old["content"].items():
            other = (new or {"content": {}})["content"].get(media)
            if other is None:
                yield f"body: it is not read as {media} any more"
            else:
                yield from self._question(content.get("schema", {}), other.get("schema", {}), "body", 0)

    def _question(self, old: Json, new: Json, where: str, depth: int) -> Iterator[str]:
        """Values that the old schema accepts and the new one refuses."""
        old, new = _resolved(self._old, old), _resolved(self._new, new)
        if depth > _DEEPEST or new in ({}, True):
            return
        if choices := old.get("anyOf"):
            for choice in choices:
                yield from self._question(choice, new, where, depth + 1)
            return
        if choices := new.get("anyOf"):
            # Fine if one of the choices accepts all of it; otherwise report what the nearest one refuses.
            found = [list(self._question(old, choice, where, depth + 1)) for choice in choices]
            yield from min(found, key=len)
            return
        if lost := _types(old) - _types(new):
            yield f"{where}: it takes no {' or '.join(sorted(lost))} any more"
            return
        yield from _narrowed(old, new, where)
        before, after = old.get("properties", {}), new.get("properties", {})
        for name in sorted(set(new.get("required", [])) - set(old.get("required", []))):
            yield f"{where}.{name}: it is required"
        for name, schema in before.items():
            if name in after:
                yield from self._question(schema, after[name], f"{where}.{name}", depth + 1)
            elif new.get("additionalProperties") is False:
                yield f"{where}.{name}: it is gone"
        if (
            old.get("additionalProperties") is not False
            and new.get("additionalProperties") is False
            and "object" in _types(old)
        ):
            yield f"{where}: it takes no further fields any more"
        if isinstance(old.get("items"), dict):
            yield from self._question(old["items"], new.get("items", {}), f"{where}[]", depth + 1)

    def _answer(self, old: Json, new: Json, where: str, depth: int) -> Iterator[str]:
        """Parts of the new schema that a client of the old one does not understand."""
        old, new = _resolved(self._old, old), _resolved(self._new, new)
        if depth > _DEEPEST or old in ({}, True):
            return
        if choices := new.get("anyOf"):
            for choice in choices:
                yield from self._answer(old, choice, where, depth + 1)
            return
        if choices := old.get("anyOf"):
            found = [list(self._answer(choice, new, where, depth + 1)) for choice in choices]
            yield from min(found, key=len)
            return
        if strange := _types(new) - _types(old):
            yield f"{where}: it may be {' or '.join(sorted(strange))}"
            return
        before, after = old.get("properties", {}), new.get("properties", {})
        for name, schema in before.items():
            if name not in after:
                yield f"{where}.{name}: it is gone"
                continue
            if name in old.get("required", []) and name not in new.get("required", []):
                yield f"{where}.{name}: it is not always there any more"
            yield from self._answer(schema, after[name], f"{where}.{name}", depth + 1)
        if isinstance(old.get("items"), dict):
            yield from self._answer(old["items"], new.get("items", {}), f"{where}[]", depth + 1)


_EVERY = frozenset({"string", "number", "boolean", "null", "array", "object", "integer"})


def _types(schema: Json) -> frozenset[str]:
    if "const" in schema or "enum" in schema:
        kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
        return frozenset(kinds[type(value)] for value in schema.get("enum", [schema.get("const")]))
    types = schema.get("type")
    if types is None:
        return _EVERY
    found = frozenset([types] if isinstance(types, str) else types)
    return found | {"integer"} if "number" in found else found


def _narrowed(old: Json, new: Json, where: str) -> Iterator[str]:
    allowed = new.get("enum", [new["const"]] if "const" in new else None)
    if allowed is not None:
        had = old.get("enum", [old["const"]] if "const" in old else None)
        if had is None:
            yield f"{where}: only {', '.join(map(str, allowed))} is taken"
        elif lost := [value for value in had if value not in allowed]:
            yield f"{where}: {', '.join(map(str, lost))} is not taken any more"
    if (
        "pattern" in new
        and new["pattern"] != old.get("pattern")
        and new["pattern"] != _WIDER.get(old.get("pattern", ""))
    ):
        yield f"{where}: it has to match {new['pattern']}"
    for bound in (*_UPPER, *_LOWER):
        before, after = old.get(bound), new.get(bound)
        if after is not None and (before is None or (after < before if bound in _UPPER else after > before)):
            yield f"{where}: {bound} is {after}"


def _resolved(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema
