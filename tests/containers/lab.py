"""A lab of docker-compose.yml, started as a user starts it: its containers, its API, its Prometheus."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from tests.containers.podman import REPOSITORY, image, podman, start

API = "http://127.0.0.1:8080"
PROMETHEUS = "http://127.0.0.1:9090"
ROOT = f"{API}/api/v1"
_PATIENCE_S = 120.0
_Found = TypeVar("_Found")

IMAGES = {
    "LONGHAUL_IMAGE": image("runtime"),
    "LONGHAUL_POSTGRES_IMAGE": image("postgres"),
    "LONGHAUL_PROMETHEUS_IMAGE": image("prometheus"),
}


def wait_for(what: Callable[[], _Found | None], name: str, log: Callable[[], str] = str) -> _Found:
    """The first result other than None; a service that does not answer yet counts as None."""
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        with contextlib.suppress(httpx.TransportError):
            if (found := what()) is not None:
                return found
        assert time.monotonic() < until_s, f"{name} did not come in {_PATIENCE_S:.0f} s: {log()[-3000:]}"
        time.sleep(0.1)


@dataclass
class Lab:
    """One profile of the compose file, with separate volumes."""

    profile: str
    service: str
    environment: Mapping[str, str] = field(default_factory=lambda: IMAGES)
    token: str = ""
    name: str = ""

    @property
    def project(self) -> str:
        return f"lhtest-{self.name or self.profile}"

    def compose(self, *words: str) -> str:
        command = [sys.executable, "-m", "podman_compose", "-p", self.project, "--profile", self.profile, *words]
        return start(*command, cwd=REPOSITORY, env={**os.environ, **self.environment}).stdout

    def up(self, *services: str, more: tuple[str, ...] = ()) -> None:
        self.compose("up", "-d", "--no-build", *more, *services)

    def down(self, *, volumes: bool) -> None:
        # podman-compose ignores containers that `--scale` made and volumes that no container has yet.
        mine = podman("ps", "--all", "--quiet", "--filter", f"label=io.podman.compose.project={self.project}").split()
        if mine:
            podman("rm", "--force", "--depend", "--time", "30", *mine)
        self.compose("down")
        if volumes:
            kept = podman("volume", "ls", "--quiet", "--filter", f"name=^{self.project}_").split()
            if kept:
                podman("volume", "rm", *kept)

    def container(self, service: str) -> str:
        return f"{self.project}_{service}_1"

    def log(self, service: str = "") -> str:
        done = start("podman", "logs", self.container(service or self.service), check=False)
        return done.stdout + done.stderr

    def inside(self, service: str, *words: str, check: bool = True) -> str:
        return podman("exec", self.container(service), *words, check=check)

    def read_token(self) -> str:
        """Read the token of the first start."""
        found = wait_for(lambda: re.search(r"shown only once: (lh_\S+)", self.log()), "the first token", self.log)
        self.token = found[1]
        return self.token

    def client(self) -> httpx.Client:
        return httpx.Client(headers={"Authorization": f"Bearer {self.token}"}, timeout=60)

    def ready(self) -> None:
        wait_for(lambda: httpx.get(f"{API}/readyz").is_success or None, "the service", self.log)

    def wait_healthy(self, service: str) -> None:
        """Wait until its health check passes; podman runs it only on request."""
        words = ("podman", "healthcheck", "run", self.container(service))
        wait_for(
            lambda: start(*words, check=False).returncode == 0 or None,
            f"health of {service}",
            lambda: self.log(service),
        )

    def run_experiment(self, **submission: Any) -> dict[str, Any]:
        """Run an experiment and return the document of its only run."""
        with self.client() as client:
            answer = client.post(f"{ROOT}/experiments", json=submission)
            assert answer.status_code == 201, answer.text
            experiment = answer.json()["id"]

            def ended() -> dict[str, Any] | None:
                found: dict[str, Any] = client.get(f"{ROOT}/experiments/{experiment}").json()
                return None if found["status"] in ("queued", "running") else found

            wait_for(ended, f"the end of {submission}", self.log)
            (run,) = client.get(f"{ROOT}/runs", params={"experiment_id": experiment}).json()["items"]
            return self.run(run["id"])

    def run(self, run: str) -> dict[str, Any]:
        """A run's document, as the service has it now."""
        with self.client() as client:
            found: dict[str, Any] = client.get(f"{ROOT}/runs/{run}").json()
        assert found["status"] == "done", found
        document: dict[str, Any] = found["document"]
        return document


def query(expression: str, at_s: float | None = None) -> list[dict[str, Any]]:
    """The result of a query at Prometheus's published port."""
    parameters = {"query": expression} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
    answer = httpx.get(f"{PROMETHEUS}/api/v1/query", params=parameters, timeout=30).json()
    assert answer["status"] == "success", answer
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found
