"""The web page that `make web` built, and its security policy.

    /               index.html, revalidated at each request
    /assets/...     named after their content, so a browser caches them forever; sent as the build compressed them

The page requests everything relative to its own address. A proxy may therefore put the service below a prefix and remove the prefix
from requests; a proxy that keeps the prefix works if LONGHAUL_URL contains it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag, NotChanged, not_changed, tag
from longhaul.orchestrator.system.errors import NotFound
from longhaul.orchestrator.system.installation import PAGE

router = APIRouter(route_class=Reading, include_in_schema=False)

BUILT = PAGE
# Nothing from other origins, no inline code but the page's own first script, no use in frames of other sites.
_POLICY = (
    "default-src 'none'; script-src 'self'%s; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FOR_GOOD = "public, max-age=31536000, immutable"
_FIRST_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
# The form for each encoding, the smallest first.
_COMPRESSED = {"br": ".br", "gzip": ".gz"}
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


@router.get("/", operation_id="show_page", response_class=HTMLResponse)
def show_page(request: Request, response: Response, if_none_match: KnownTag = None) -> Response:
    """The page."""
    index = _folder(request) / "index.html"
    try:
        text = index.read_text()
    except OSError:
        hint = "run `make web` where Longhaul is installed, and reload; the API works without it"
        raise NotFound("showing", "the web page", "it is not built", hint) from None
    # Also with a 304, whose headers replace those in the browser's cache.
    policy = {"Content-Security-Policy": _POLICY % _first_script(text)}
    try:
        not_changed(tag("page", text), if_none_match, response)
    except NotChanged as found:
        return Response(status_code=304, headers={**found.headers, **policy})
    return HTMLResponse(text, headers={**response.headers, **policy})


@lru_cache(maxsize=4)
def _first_script(page: str) -> str:
    """The source of a policy that allows the script in the page, by its hash."""
    found = _FIRST_SCRIPT.search(page)
    if found is None:
        return ""
    return f" 'sha256-{base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()}'"


@router.get("/assets/{name}", operation_id="read_asset", response_class=Response)
def asset(name: Annotated[str, InPath(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}$")], request: Request) -> Response:
    """A part of the page."""
    file = _folder(request) / "assets" / name
    try:
        content = file.read_bytes() if file.suffix in _KINDS else None
    except OSError:
        content = None
    if content is None:
        hint = "the page was rebuilt; reload it"
        raise NotFound("reading a part of the web page", name, "the file does not exist", hint)
    headers = {"Cache-Control": _FOR_GOOD, "Vary": "Accept-Encoding"}
    for encoding, suffix in _COMPRESSED.items():
        compressed = file.with_name(name + suffix)
        if _accepts(request, encoding) and compressed.is_file():
            return Response(
                compressed.read_bytes(),
                media_type=_KINDS[file.suffix],
                headers={**headers, "Content-Encoding": encoding},
            )
    return Response(content, media_type=_KINDS[file.suffix], headers=headers)


def _accepts(request: Request, encoding: str) -> bool:
    """Whether the caller accepts an encoding: `br`, or `br;q=0.5`, not `br;q=0`."""
    listed = request.headers.get("accept-encoding", "").replace(" ", "").lower().split(",")
    return any(
        name == encoding and weight.strip("0.") != ""
        for name, _, weight in (one.partition(";q=") if ";q=" in one else (one, "", "1") for one in listed)
    )


def _folder(request: Request) -> Path:
    folder: Path = request.app.state.page
    return folder


class BelowPrefix:
    """The service below the path of its address, for a proxy that keeps the prefix."""

    def __init__(self, app: ASGIApp, *, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path: str = scope["path"]
            if path == self._prefix:
                # Without the slash, relative addresses would miss the prefix.
                await RedirectResponse(f"{self._prefix}/", status_code=308)(scope, receive, send)
                return
            if path.startswith(f"{self._prefix}/"):
                raw: bytes = scope.get("raw_path") or path.encode()
                scope = {**scope, "path": path[len(self._prefix) :], "raw_path": raw[len(self._prefix.encode()) :]}
        await self._app(scope, receive, send)
