"""`longhaul serve`: the API in this process, the dispatcher and builds of kernels in others, and instructions for the first start.

The dispatcher decodes traces and starts guests; as a thread here it would delay every request. It is started
again when it ends, and ends with this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

from longhaul.orchestrator.system.extras import need

try:
    import uvicorn
    from fastapi import FastAPI
except ImportError:
    need("service")
    raise

from longhaul.api.app import create_app
from longhaul.api.http.protocol import Bounded
from longhaul.api.static_page import BUILT
from longhaul.orchestrator.execution.kernel_builder import keep_building
from longhaul.orchestrator.system.errors import PlanError, ResultsError
from longhaul.orchestrator.system.locks import owned
from longhaul.orchestrator.system.logs import log_as_json
from longhaul.orchestrator.system.process import keep_freed_memory
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.orchestrator.system.supervise import Stop, keep_going

_LOG = logging.getLogger("longhaul.serve")
_GRACE_S = 10


class _Server(uvicorn.Server):
    """A server that ends event streams when it stops; otherwise they would keep it running."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._app.state.hub.end_streams)
        super().handle_exit(sig, frame)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)


def serve(host: str, port: int) -> int:
    """Serve until stopped; the exit code."""
    settings = load_settings()
    need("service")
    if settings.dask:
        need("cluster")
    with contextlib.ExitStack() as held:
        tell = _only_service(settings, held)
        bound = _bind(host, port)
        address = _address(*bound.getsockname()[:2])
        tell(f"process {os.getpid()} at {address}")
        return _serve(bound, replace(settings, url=settings.url or address))


def _only_service(settings: Settings, held: contextlib.ExitStack) -> Callable[[str], None]:
    """Lock the home; returns a function that writes the holder's name into the lock. PlanError if another service holds it."""
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        return held.enter_context(owned(settings.home / "service.lock"))
    except BlockingIOError as error:
        what = f"another service uses it, {error.strerror or 'which is just starting'}"
        hint = "stop that one first, or set LONGHAUL_HOME to another folder"
        raise PlanError("serving the home", str(settings.home), what, hint) from None
    except OSError as error:
        what, hint = error.strerror or str(error), "set LONGHAUL_HOME to a writable folder"
        raise ResultsError("serving the home", str(settings.home), what, hint) from error


def _serve(bound: socket.socket, settings: Settings) -> int:
    keep_freed_memory()
    app = create_app(settings)
    log_as_json()
    logging.getLogger("alembic").setLevel(logging.WARNING)
    _greet(app, settings, bound.getsockname()[0])
    config = uvicorn.Config(
        app,
        http=Bounded,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Forwarded headers can be forged.
        proxy_headers=bool(settings.trusted_proxy),
        forwarded_allow_ips=settings.trusted_proxy,
        timeout_graceful_shutdown=_GRACE_S,
        loop="uvloop",
    )
    stop, argv = Stop(), [sys.executable, "-m", "longhaul.orchestrator.execution.dispatch"]
    dispatcher = threading.Thread(
        target=keep_going, args=(argv, stop, _LOG, "dispatcher"), name="dispatcher", daemon=True
    )
    builder = threading.Thread(target=keep_building, args=(settings, stop, _LOG), name="kernel builder", daemon=True)
    dispatcher.start()
    builder.start()
    try:
        _Server(config, app).run(sockets=[bound])
    finally:
        # Its guests end with it, and its runs return to the queue.
        stop.set()
        dispatcher.join()
        builder.join()
    return 0


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        hint = "another service may use it; choose another port with --port"
        raise PlanError("listening on", f"{host}:{port}", error.strerror or str(error), hint) from error
    return bound


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _greet(app: FastAPI, settings: Settings, host: str) -> None:
    access = app.state.lab.access
    known = access.any_token()
    print(f"Longhaul at {settings.url}, runs in {settings.home}")
    if not known:
        token, _ = access.add_token("first", "admin")
        print(f"your first token, with scope admin, shown only once: {token}")
    if (BUILT / "index.html").is_file():
        print(f"web page: {settings.url}/" if known else f"web page, logged in: {settings.login_link(token)}")
    if host not in ("127.0.0.1", "::1", "localhost"):
        print(
            "note: this address can be reached from other machines, and tokens are sent unencrypted: use TLS (docs/service.md)"
        )
    if settings.proxy_sign_in is not None:
        print(f"danger: {settings.proxy_sign_in.danger}")
    sys.stdout.flush()
