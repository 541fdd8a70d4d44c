"""docs/api.md: the reference for readers, made of the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_INTRODUCTION = """# The REST API

Made of [openapi.json](openapi.json), which the service serves at `/api/v1/openapi.json`; [service.md](service.md) says how it is run.
Every example below is executed against the service by a test. A field, parameter or operation that is here stays here: what
would take one away or narrow it is refused by a test (`tests/contract/test_openapi.py`) unless it comes under another major path.

- **Who asks.** `Authorization: Bearer TOKEN`, or the cookie of `POST /api/v1/session` and, where something changes, its CSRF token
  as `X-CSRF-Token`. Each operation names the scope that it needs; `admin` includes `gate`, `gate` includes `run`, `run` includes `read`.
- **Bodies** are JSON in the narrow sense: UTF-8, no NaN, no name twice, at most 40 levels, no control characters; at most 1 MiB. Where an
  experiment is taken, its file may be sent as it is, as `application/yaml` of at most 256 KiB.
- **Answers.** HEAD is answered wherever GET is. An `Accept` that no form of the answer meets is 406. What will not change any more has an
  `ETag`; `If-None-Match` is answered with 304. Answers are compressed where that is accepted (zstd, br, gzip).
- **Problems** are RFC 9457 documents (`application/problem+json`) with `title`, `detail`, `attempting`, `subject`, `hint`, `request_id`, and `problems`,
  a line each, where a body was not understood. 429 and a 503 that passes carry `Retry-After`.
- **Lists** come in pages: `next` of one is the `cursor` of the one after it.
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
