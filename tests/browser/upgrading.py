"""A service whose page is replaced while it is open: every file gets another name, as after an upgrade."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from longhaul.api.app import create_app
from longhaul.api.static_page import BUILT
from tests.support.operations import settings


@dataclass(frozen=True)
class Upgradable:
    """The address of the service, a token, and the folder of its page."""

    url: str
    token: str
    built: Path

    def upgrade(self) -> None:
        """Replace the build by another one."""
        for compressed in (*(self.built / "assets").glob("*.br"), *(self.built / "assets").glob("*.gz")):
            compressed.unlink()
        assets = sorted((self.built / "assets").iterdir())
        texts = {file: file.read_text() for file in (self.built / "index.html", *assets)}
        for file, text in texts.items():
            for asset in assets:
                text = text.replace(asset.name, _renamed(asset))
            file.write_text(text)
        for asset in assets:
            asset.rename(asset.with_name(_renamed(asset)))


def _renamed(asset: Path) -> str:
    return f"{asset.stem}Z{asset.suffix}"


@contextlib.contextmanager
def upgradable(folder: Path) -> Iterator[Upgradable]:
    """The service in this process, with a copy of the page."""
    with in_process(folder / "home", Path(shutil.copytree(BUILT, folder / "page"))) as running:
        yield running


@contextlib.contextmanager
def in_process(home: Path, built: Path) -> Iterator[Upgradable]:
    """The service in this process, with a page from any folder."""
    app = create_app(settings(home), built)
    token, _ = app.state.lab.access.add_token("visitor", "read")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield Upgradable(f"http://127.0.0.1:{listening.getsockname()[1]}", token, built)
        finally:
            server.should_exit = True
            thread.join()
