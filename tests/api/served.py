"""The service as a process of its own on a home of its own, which can be killed and started again at the same address."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from api.client import Client
from tests.command import longhaul

_LONGEST_START_S = 120.0


class Served:
    """`longhaul serve` on loopback, with a token for each scope."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        self._environment = environment
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None
        self._tokens: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "serve.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.cli", "serve", "--port", str(self.port)],
                env={**os.environ, **self._environment, "LONGHAUL_HOME": str(self.home)},
                stdout=log,
                stderr=log,
                text=True,
            )
        until_s = time.monotonic() + _LONGEST_START_S
        while not self._answers():
            assert self._process.poll() is None, (self.home / "serve.log").read_text()
            assert time.monotonic() < until_s, "the service does not answer"
            time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an operator would."""
        self._end(signal.SIGTERM)

    def token(self, scope: str) -> str:
        """A token of that scope, made at the command line as an operator makes it."""
        if scope not in self._tokens:
            said = longhaul("token", "add", f"test-{scope}", "--scope", scope, home=self.home)
            assert said.returncode == 0, said.stderr
            self._tokens[scope] = said.stdout.strip()
        return self._tokens[scope]

    def client(self, scope: str = "run") -> Client:
        """A client with a token of that scope."""
        return Client(self.url, self.token(scope))

    def command(self, scope: str = "run") -> dict[str, str]:
        """What the command line needs in its environment to use it."""
        return {"LONGHAUL_SERVER": self.url, "LONGHAUL_TOKEN": self.token(scope)}

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
