"""Every operation of the service, read from the app, and a request for each, made of the examples in the reference."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import httpx
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path

from longhaul.api.app import create_app
from longhaul.api.http.request_body import JSON, OCTETS, needed_scope
from longhaul.orchestrator.system.settings import Settings
from tests.support.service import Service

Json = dict[str, Any]
_INTERNAL = ("HEAD",)
# A recording, as in the example of the reference.
RECORDING = b"time_s,rate_mbps,delay_ms,loss\n0,8,20,0\n1,24,40,0.1\n"


def settings(home: Path) -> Settings:
    """Settings of a service in this process."""
    return Settings(home, home / "cache", jobs=1, wall_limit_s=60, stall_limit_s=30, guest_memory_dir=home)


@cache
def the_app() -> FastAPI:
    """The app, for its list of routes; it serves no requests."""
    return create_app(settings(Path(tempfile.gettempdir()) / "longhaul-nowhere"))


@cache
def document() -> Json:
    """The API reference of the app."""
    return the_app().openapi()


@dataclass(frozen=True)
class Operation:
    """One method of one path; `openapi` is its part of the reference."""

    method: str
    path: str
    scope: str | None
    openapi: Json = field(hash=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def bodies(self) -> list[tuple[str, Any]]:
        """(media type, example) of each body in the reference; an empty one where the operation takes none."""
        found = []
        for media, content in self.openapi.get("requestBody", {}).get("content", {}).items():
            if "example" in content:
                found.append((media, content["example"]))
            found += [(media, one["value"]) for one in content.get("examples", {}).values()]
        return found or [("", None)]

    def parameters(self, option: str | None) -> Json:
        """The required parameters, and one optional, with their examples, by name."""
        return {
            one["name"]: one.get("example")
            for one in self.openapi.get("parameters", [])
            if one.get("required") or one["name"] == option
        }

    def request(
        self, client: httpx.Client, ids: Mapping[str, str], body: int = 0, option: str | None = None
    ) -> httpx.Request:
        """The request of the examples, with ids that exist."""
        values = self.parameters(option)
        path, query, headers = self.path, {}, {}
        for one in self.openapi.get("parameters", []):
            name, where = one["name"], one["in"]
            if name not in values:
                continue
            value = ids.get(f"{self.path.split('/')[3]}.{name}", ids.get(name, values[name]))
            if where == "path":
                path = path.replace(f"{{{name}}}", str(value))
            elif where == "query":
                query[name] = value
            else:
                headers[name] = str(value)
        media, content = self.bodies[body]
        more: Json = {"json": content} if media == JSON else {"content": content} if media else {}
        request = client.build_request(self.method, path, params=query, headers=headers, **more)
        if media:
            request.headers["Content-Type"] = media
        return request


@cache
def operations() -> list[Operation]:
    """All operations, also those that are not in the reference."""
    reference = {
        (method.upper(), path): operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
    }
    return [
        Operation(method, _place(route), _scope(route), reference.get((method, _place(route)), {}))
        for route in iter_route_contexts(the_app().routes)
        for method in sorted(route.methods or {"ANY"})
        if method not in _INTERNAL
    ]


def _place(route: Any) -> str:
    """The path of a route, as written in the reference."""
    return compile_path(cast("str", route.path))[1]


def _scope(route: Any) -> str | None:
    dependant = getattr(route, "dependant", None)
    return needed_scope(dependant) if dependant else None


def documented() -> list[Operation]:
    """The operations in the reference."""
    return [one for one in operations() if one.openapi]


def ids_of(service: Service) -> dict[str, str]:
    """Existing ids for the examples' parameters: `noun.parameter` or `parameter`."""
    with service.client() as client:
        host = client.get("/api/v1/hosts").json()[0]["id"]
        headers = {"Content-Type": OCTETS}
        sent = client.post("/api/v1/recordings", params={"name": "link.csv"}, content=RECORDING, headers=headers)
    return {
        "recordings.sha256": sent.json()["reference"].removeprefix("sha256:"),
        "experiments.id": service.experiment,
        "experiments.run": service.run,
        "runs.id": service.run,
        "hosts.id": host,
        "experiment_id": service.experiment,
        "a": service.experiment,
        "b": service.experiment,
    }
