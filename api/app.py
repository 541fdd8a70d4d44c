"""Assembles the service: routes, errors, middleware, and the resources that are opened at its start and closed at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from starlette_compress import CompressMiddleware, add_compress_type, remove_compress_type

from longhaul.api import errors
from longhaul.api.auth import Door
from longhaul.api.http.limits import Streams
from longhaul.api.http.middleware import Requests
from longhaul.api.http.responses import ROOT, NotChanged
from longhaul.api.http.threads import let_few_look_up, look_up
from longhaul.api.lab import Lab
from longhaul.api.metrics import Gauges
from longhaul.api.openapi.document import reference
from longhaul.api.redaction import Outward
from longhaul.api.routes import (
    baselines,
    bulk,
    catalogue,
    comparisons,
    experiments,
    files,
    health,
    hosts,
    kernels,
    live,
    module_sources,
    modules,
    overview,
    pictures,
    plans,
    points,
    predictions,
    recordings,
    reproductions,
    run_lists,
    runs,
    series,
    values,
)
from longhaul.api.routes.access import notifications, shares, tokens
from longhaul.api.routes.exploration import of_run, of_sweep
from longhaul.api.schemas.experiments import Problem
from longhaul.api.static_page import BUILT, BelowPrefix
from longhaul.api.static_page import router as page
from longhaul.api.streams.events import Hub
from longhaul.api.streams.live_run import Watchers
from longhaul.orchestrator.system.settings import Settings, load_settings

_ABOUT = "A congestion-control laboratory: experiments in, runs with real Linux TCP out. See docs/service.md."
# Puts the schema of problems into the reference, which lists the statuses itself.
_PROBLEMS: dict[int | str, dict[str, Any]] = {"4XX": {"model": Problem}}


def create_app(settings: Settings | None = None, built: Path = BUILT) -> FastAPI:
    """The service of one lab, with the web page from the folder where it was built."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        let_few_look_up()
        yield
        await app.state.hub.close()
        app.state.watchers.close()
        app.state.lab.close()

    app = FastAPI(
        title="Longhaul",
        version=version("longhaul"),
        description=_ABOUT,
        lifespan=lifespan,
        openapi_url=f"{ROOT}/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=_PROBLEMS,
        redirect_slashes=False,
    )
    app.openapi = partial(_reference, app)  # type: ignore[method-assign]  # FastAPI's documented extension point
    lab = Lab(settings or load_settings())
    app.state.lab = lab
    app.state.outward = outward = Outward(lab)
    app.state.hub = Hub(lab.events, lambda error: outward.text(str(outward.error(error))))
    app.state.streams = Streams(lab.settings.most_streams)
    app.state.watchers = Watchers(lab)
    app.state.door = Door(partial(look_up, lab))
    app.state.gauges = Gauges()
    app.state.page = built
    errors.install(app)
    app.add_exception_handler(NotChanged, _not_changed)
    for nouns in (
        plans,
        experiments,
        values,
        points,
        of_sweep,
        bulk,
        run_lists,
        runs,
        series,
        files,
        pictures,
        of_run,
        live,
        comparisons,
        baselines,
        predictions,
        reproductions,
        catalogue,
        module_sources,
        modules,
        kernels,
        recordings,
        hosts,
        overview,
        shares,
        notifications,
        tokens,
    ):
        app.include_router(nouns.router, prefix=ROOT)
    app.include_router(health.router)
    app.include_router(page)
    # A compressed stream would keep a window of a megabyte or more for each follower.
    remove_compress_type("text/event-stream")
    # The series of charts as plain numbers.
    add_compress_type("application/octet-stream")
    app.add_middleware(CompressMiddleware, minimum_size=1000)
    app.add_middleware(Requests, state=app.state)
    if prefix := urlsplit(lab.settings.url).path:
        app.add_middleware(BelowPrefix, prefix=prefix)
    return app


def _reference(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = reference(app)
    return app.openapi_schema


async def _not_changed(request: Request, error: Exception) -> Response:
    assert isinstance(error, NotChanged)
    return Response(status_code=304, headers=error.headers)
