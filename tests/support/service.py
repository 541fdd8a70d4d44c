"""`longhaul serve` as tests use it: a separate process with a separate home, which can be killed and started again at the same
address, with tokens of every scope and a real run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from longhaul.client import Client
from longhaul.orchestrator.system.settings import cache_folder
from tests.support.waiting import is_ready, wait_for

ROOT = "/api/v1"
SCOPES = ("read", "run", "gate", "admin")
LONGHAUL = [sys.executable, "-m", "longhaul.cli.main"]
# A guest boots and runs ten virtual seconds, on a busy machine.
_PATIENCE_S = 300


@dataclass
class Service:
    """The service on loopback."""

    home: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    program: Sequence[str | Path] = tuple(LONGHAUL)
    tokens: dict[str, str] = field(default_factory=dict)
    experiment: str = ""
    run: str = ""
    _process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The pid of the process that serves requests."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, at the port that it had if it had one, and wait until it is ready."""
        self.home.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "LONGHAUL_HOME": str(self.home),
            "LONGHAUL_RATE_LIMIT": "1000000",
            "PYTHONFAULTHANDLER": "1",
            **self.settings,
        }
        command = [*self.program, "serve", "--port", str(self.port)]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self._process.stdout is not None
        match = re.match(r"Longhaul at http://127\.0\.0\.1:(\d+)[,/]", self._process.stdout.readline())
        assert match is not None, self.log.read_text()
        self.port = int(match[1])
        if not self.tokens:
            self.tokens["admin"] = self._process.stdout.readline().split()[-1]
        wait_for(lambda: is_ready(f"{self.url}/readyz"), _PATIENCE_S, lambda: f"see {self.log}")

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as an operator would."""
        self._end(signal.SIGTERM)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Kill it for a while; it is always started again, since other tests use it too."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            try:
                # The output is open until the last process that has it ends, including the dispatcher.
                self._process.communicate(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"the service did not end: {self._whereabouts()}") from None
            self._process = None

    def _whereabouts(self) -> str:
        """Abort all processes of this home, and return their commands and a log with the stack of each thread."""
        mine = f"LONGHAUL_HOME={self.home}".encode()
        left = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mine in (process / "environ").read_bytes().split(b"\0"):
                    left.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                    os.kill(int(process.name), signal.SIGABRT)
        time.sleep(1)
        return f"{left}; see {self.log}:\n{self.log.read_text()[-20_000:]}"

    def programs_client(self, scope: str = "run") -> Client:
        """The client that programs use, with the token of a scope."""
        return Client(self.url, self.tokens[scope])

    def command(self, scope: str = "run") -> dict[str, str]:
        """The environment in which the command line uses this service."""
        return {"LONGHAUL_SERVER": self.url, "LONGHAUL_TOKEN": self.tokens[scope]}

    def client(self, scope: str | None = "admin", **more: Any) -> httpx.Client:
        """A client with the token of a scope, or without one."""
        headers = {"Authorization": f"Bearer {self.tokens[scope]}"} if scope else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=None, verify=False, **more)

    def as_token(self, token: str) -> httpx.Client:
        """A client with this token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=None, verify=False)

    def make_token(self, name: str, scope: str) -> str:
        """A new token for one user."""
        with self.client() as admin:
            made = admin.post(f"{ROOT}/tokens", json={"name": name, "scope": scope})
        assert made.status_code == 201, made.text
        return str(made.json()["token"])

    def submit(self, asked: Mapping[str, Any], scope: str = "run") -> dict[str, Any]:
        """Submit an experiment and return it."""
        with self.client(scope) as client:
            answer = client.post(f"{ROOT}/experiments", json=asked)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def cancel(self, experiment: str) -> dict[str, Any]:
        """Cancel an experiment, and return it when it has ended."""
        with self.client() as client:
            client.post(f"{ROOT}/experiments/{experiment}/cancel")
        return self.wait(experiment)

    def wait(self, experiment: str) -> dict[str, Any]:
        """Wait for the end of an experiment and return it."""
        with self.client("read") as client:

            def ended() -> dict[str, Any] | None:
                found: dict[str, Any] = client.get(f"{ROOT}/experiments/{experiment}").json()
                return found if found["status"] not in ("queued", "running") else None

            return wait_for(ended, _PATIENCE_S, lambda: f"experiment {experiment} did not end; see {self.log}")

    @property
    def log(self) -> Path:
        """The file of its standard error."""
        return self.home / "serve.log"

    def log_lines(self) -> list[dict[str, Any]]:
        """The parsed lines of its log."""
        lines = self.log.read_text().splitlines(keepends=True)
        # The last line may be half written.
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def lines_with(self, text: str) -> list[dict[str, Any]]:
        """The log lines that contain a text, as soon as there are any: a request is logged after its response is sent."""
        return wait_for(
            lambda: [line for line in self.log_lines() if text in json.dumps(line)],
            _PATIENCE_S,
            lambda: f"nothing about {text} in {self.log}",
        )


@contextlib.contextmanager
def served(home: Path, port: int = 0, **settings: str) -> Iterator[Service]:
    """The service on this port or on any free one, with a token of every scope."""
    service = Service(home, settings, port)
    try:
        service.start()
        for scope in SCOPES[:-1]:
            service.tokens[scope] = service.make_token(f"{scope}er", scope)
        yield service
    finally:
        service.stop()


def cache_without(folder: Path, name: str) -> Path:
    """A cache in a folder that has all of this machine's, kernels and modules, but one part, which begins empty."""
    cache = folder / "cache"
    cache.mkdir(parents=True)
    for one in cache_folder().iterdir():
        if one.name != name:
            (cache / one.name).symlink_to(one.resolve())
    return cache
