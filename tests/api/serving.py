"""`longhaul serve` as tests use it: a process of its own with a home of its own, tokens of every scope, and a real run in it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = "/api/v1"
SCOPES = ("read", "run", "admin")
LONGHAUL = [sys.executable, "-m", "orchestrator.cli"]
# A guest boots and runs ten virtual seconds; beside a busy machine's other work.
_PATIENCE_S = 300


@dataclass
class Service:
    """A running service."""

    url: str
    home: Path
    tokens: dict[str, str] = field(default_factory=dict)
    experiment: str = ""
    run: str = ""

    def client(self, scope: str | None = "admin", **more: Any) -> httpx.Client:
        """A client with the token of a scope, or without one."""
        headers = {"Authorization": f"Bearer {self.tokens[scope]}"} if scope else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=300, verify=False, **more)

    def as_token(self, token: str) -> httpx.Client:
        """A client with this token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=300, verify=False)

    def make_token(self, name: str, scope: str) -> str:
        """A token of a person of their own."""
        with self.client() as admin:
            made = admin.post(f"{ROOT}/tokens", json={"name": name, "scope": scope})
        assert made.status_code == 201, made.text
        return str(made.json()["token"])

    def submit(self, asked: Mapping[str, Any], scope: str = "run") -> dict[str, Any]:
        """An experiment that was handed in."""
        with self.client(scope) as client:
            answer = client.post(f"{ROOT}/experiments", json=asked)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def wait(self, experiment: str) -> dict[str, Any]:
        """The experiment when it has ended."""
        with self.client("read") as client:
            until_s = time.monotonic() + _PATIENCE_S
            while time.monotonic() < until_s:
                found: dict[str, Any] = client.get(f"{ROOT}/experiments/{experiment}").json()
                if found["status"] not in ("queued", "running"):
                    return found
                time.sleep(0.1)
        raise AssertionError(f"experiment {experiment} did not end; see {self.log}")

    @property
    def log(self) -> Path:
        """What it said on standard error."""
        return self.home / "serve.log"

    def log_lines(self) -> list[dict[str, Any]]:
        """The same, read."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def lines_with(self, text: str) -> list[dict[str, Any]]:
        """Those that hold a text, as soon as there are any: a request is logged when its answer is gone."""
        until_s = time.monotonic() + _PATIENCE_S
        while not (found := [line for line in self.log_lines() if text in json.dumps(line)]):
            assert time.monotonic() < until_s, f"nothing about {text} in {self.log}"
            time.sleep(0.02)
        return found


@contextlib.contextmanager
def served(home: Path, **settings: str) -> Iterator[Service]:
    """The service on a free port of loopback, with a token of every scope."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "LONGHAUL_HOME": str(home), "LONGHAUL_RATE_LIMIT": "1000000", **settings}
    with (home / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [*LONGHAUL, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
    try:
        assert process.stdout is not None
        match = re.match(r"Longhaul at (http://\S+?),", process.stdout.readline())
        assert match is not None, (home / "serve.log").read_text()
        token = process.stdout.readline().split()[-1]
        service = Service(match[1], home, {"admin": token})
        _wait_until_ready(service)
        for scope in SCOPES[:2]:
            service.tokens[scope] = service.make_token(f"{scope}er", scope)
        yield service
    finally:
        process.terminate()
        process.communicate()


def _wait_until_ready(service: Service) -> None:
    until_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{service.url}/readyz").status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError(f"the service did not get ready; see {service.log}")
