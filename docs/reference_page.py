"""docs/api.md: the reference, generated from the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_INTRODUCTION = """# The REST API

Generated from [openapi.json](openapi.json), which the service serves at `/api/v1/openapi.json`; [service.md](service.md) explains how to run it.
A test executes every example below against the service. Fields, parameters and operations are stable: another test
(`tests/contract/test_openapi.py`) refuses to remove or narrow one, except under another major path.

- **Authentication.** `Authorization: Bearer TOKEN`, or the cookie of `POST /api/v1/session` and, for changes, its CSRF token
  as `X-CSRF-Token`. Each operation names the scope that it needs; `admin` includes `gate`, `gate` includes `run`, `run` includes `read`.
- **Bodies** are strict JSON: UTF-8, no NaN, no duplicate names, at most 40 levels, no control characters; at most 1 MiB. Where an
  experiment is expected, its file can be sent as `application/yaml` of at most 256 KiB.
- **Responses.** HEAD works wherever GET does. An `Accept` without an available media type gives 406. Content that no longer changes has an
  `ETag`; a matching `If-None-Match` gives 304. Responses are compressed if the client accepts it (zstd, br, gzip).
- **Problems** are RFC 9457 documents (`application/problem+json`) with `title`, `detail`, `attempting`, `subject`, `hint`, `request_id`, and `problems`,
  a line for each mistake, if a body is not valid. 429 and a temporary 503 have `Retry-After`.
- **Lists** have pages: the `next` of a page is the `cursor` of the following one.
"""


def reference_page(document: Json) -> str:
    """The page."""
    return "\n".join(_page(document)) + "\n"


def _page(document: Json) -> Iterator[str]:
    yield _INTRODUCTION
    for tag in document["tags"]:
        yield f"## {tag['name'].capitalize()}\n"
        yield f"{tag['description']}\n"
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if operation["tags"] == [tag["name"]]:
                    yield from _operation(method, path, operation, document)
    yield "## Schemas\n"
    for name, schema in document["components"]["schemas"].items():
        yield from _schema(name, schema)


def _operation(method: str, path: str, operation: Json, document: Json) -> Iterator[str]:
    yield f"### {method.upper()} {path}\n"
    scope = operation.get("x-scope")
    yield f"{operation['summary']}. {operation['description']}\n"
    yield f"Scope: {f'`{scope}`' if scope else 'none'}.\n"
    if parameters := operation.get("parameters"):
        yield "| parameter | in | type | default | meaning | example |\n|---|---|---|---|---|---|"
        for one in parameters:
            default = one["schema"].get("default")
            cells = (
                f"`{one['name']}`{' (needed)' if one.get('required') else ''}",
                one["in"],
                _kind(one["schema"]),
                "" if default is None else f"`{default}`",
                one.get("description", ""),
                f"`{one['example']}`",
            )
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        kind = _kind(content["schema"])
        yield f"Body as `{media}`{f': {kind}' if kind != 'string' else ''}.\n"
        for example in [one["value"] for one in content.get("examples", {}).values()] or [content.get("example")]:
            text = example if isinstance(example, str) else json.dumps(example)
            yield f"```\n{text.rstrip()}\n```\n"
    good = [(status, answer) for status, answer in operation["responses"].items() if status < "4"]
    bad = [status for status in operation["responses"] if status >= "4"]
    for status, answer in good:
        forms = "; ".join(
            f"`{media}`: {_kind(content.get('schema', {}))}" for media, content in answer.get("content", {}).items()
        )
        headers = ", ".join(f"`{name}`" for name in answer.get("headers", {}))
        yield f"- {status}: {answer['description']}{f' {forms}.' if forms else ''}{f' Headers: {headers}.' if headers else ''}"
    yield f"- problems: {', '.join(bad)}\n"


def _schema(name: str, schema: Json) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{schema.get('description', '')}\n"
    yield "| field | type | meaning |\n|---|---|---|"
    needed = schema.get("required", [])
    for field, about in schema.get("properties", {}).items():
        kind = _kind(about).replace("|", "\\|")
        yield f"| `{field}`{'' if field in needed else ' (optional)'} | {kind} | {about.get('description', '')} |"
    yield ""


def _kind(schema: Json) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    bounds = [f"{word} {schema[name]}" for name, word in (("minimum", "from"), ("maximum", "to")) if name in schema]
    return " ".join([schema.get("type", "anything"), *bounds])
