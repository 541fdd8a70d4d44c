"""Shared by tests of runs on stand-ins: experiments as files, runs as a user starts them, checks for leftovers on a host."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.spec.host_policy import limits_of, read_policy
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.hosts.bench import QUIET, Bench
from tests.hosts.standins import Conditions

LONGHAUL = Path(sys.executable).parent / "longhaul"
RATE_BPS, ONE_WAY_US = 20_000_000, 20_000
# 1 BDP of 20 Mbit/s and 40 ms.
BUFFER_BYTES = 100_000
TWENTY: Mapping[str, Any] = {"bandwidth": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
PATH = Conditions(RATE_BPS, ONE_WAY_US, BUFFER_BYTES)

# As long as a wait may take on a machine that has much other work.
_PATIENCE_S = 300.0
# Less than the longest run, which would leave a host clean at its end in any case.
_CLEAN_WITHIN_S = 90.0
# A run that its own checks refuse because this machine was busy shows nothing about Longhaul: it is run again.
TRIES = 4
_TRAFFIC = "( sport >= :10000 and sport <= :10099 ) or ( dport >= :10000 and dport <= :10099 )"


def experiment(name: str, flows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """An experiment on the path that the router emulates."""
    return {"experiment": name, "path": dict(TWENTY), "flows": flows, **more}


@dataclass
class Runner:
    """A user who runs experiments on the stand-ins."""

    bench: Bench
    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        return {**self.bench.environment, **more}

    def settings(self) -> Settings:
        """The settings of a process in that environment."""
        kept = dict(os.environ)
        os.environ.update(self.environment())
        try:
            return load_settings()
        finally:
            os.environ.clear()
            os.environ.update(kept)

    def start(self, spec: Mapping[str, Any], *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start `longhaul run` and do not wait for it."""
        file = self.folder / f"{spec['experiment']}-{time.monotonic_ns()}.json"
        file.write_text(json.dumps(spec))
        where = ("--backend", "hosts", "--hosts", "alpha,beta") if "--backend" not in words else ()
        return subprocess.Popen(
            [LONGHAUL, "run", file, "--json", "--no-cache", *where, *words],
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def started(self, spec: Mapping[str, Any], *words: str) -> subprocess.Popen[str]:
        """Start `longhaul run`, and wait until a flow is connected on alpha; no other heavy test runs meanwhile."""
        for _ in range(TRIES):
            with locked(QUIET):
                process = self.start(spec, *words)
                self._wait_for_traffic(process)
            if process.poll() is None:
                return process
            _, document, messages = self.end(process)
            assert refused_as_busy(document), messages
        raise AssertionError(f"the hosts were too busy for {TRIES} runs: {messages}")

    def _wait_for_traffic(self, process: subprocess.Popen[str]) -> None:
        """Wait until a flow of the run is connected, or the run has ended without one."""
        wait_until(lambda: process.poll() is not None or self.connected("alpha"), "traffic on alpha")

    def run(self, spec: Mapping[str, Any], *words: str, **environment: str) -> tuple[int, dict[str, Any], str]:
        """The exit code, the document, and the messages; no other heavy test runs meanwhile."""
        for _ in range(TRIES):
            with locked(QUIET):
                ended = self.end(self.start(spec, *words, **environment))
            if not refused_as_busy(ended[1]):
                break
        return ended

    def end(self, process: subprocess.Popen[str], longest_s: float = _PATIENCE_S) -> tuple[int, dict[str, Any], str]:
        output, messages = process.communicate(timeout=longest_s)
        document: dict[str, Any] = json.loads(output) if output.strip() else {}
        errors = [str(run["error"]) for run in document.get("runs", []) if "error" in run]
        return process.returncode, document, "\n".join([messages, *errors])

    @contextlib.contextmanager
    def under(self, *, each: Mapping[str, str] | None = None, **whole: str) -> Iterator[None]:
        """Use another policy for a while, as an operator would: changes to `each` host or to the `whole`, with the limits copied to each host."""
        policy = json.loads(self.bench.lab.policy.read_text())
        policy.update(whole)
        for host in policy["hosts"].values():
            host.update(each or {})
        file = self.folder / f"hosts-{time.monotonic_ns()}.yml"
        file.write_text(json.dumps(policy))
        try:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(self.bench.lab, "policy", file)
                self._copy_limits()
                yield
        finally:
            self._copy_limits()

    def _copy_limits(self) -> None:
        policy = read_policy(self.bench.lab.policy)
        for name in self.bench.lab.hosts:
            limits = json.dumps(limits_of(policy, name), indent=1)
            self.bench.lab.run(name, "cat >/etc/longhaul/limits.json", stdin=limits)

    def traffic(self, name: str) -> bool:
        """Whether an agent runs a run on this host."""
        return bool(self.bench.lab.run(name, "ls /run/longhaul 2>/dev/null || true").strip())

    def connected(self, name: str) -> bool:
        """Whether a flow of a run is connected on this host."""
        return "ESTAB" in self.bench.lab.run(name, f"ss -Htn '{_TRAFFIC}'")

    def assert_clean(self, *names: str) -> None:
        """No process, no file, no setting of a run is left on a host."""
        for name in names:
            assert not self.traffic(name), f"{name} has a run directory"
            assert self.bench.lab.run(name, "pgrep -f '[l]onghaul/agent endpoint' || true").strip() == ""
            assert self.bench.lab.run(name, "cat /sys/module/tcp_cubic/parameters/hystart").strip() == "1"
            assert not self.connected(name)

    def wait_until_clean(self, name: str, longest_s: float = _CLEAN_WITHIN_S) -> float:
        """Wait until a host is clean, and return the seconds that this took."""
        begun = time.monotonic()
        wait_until(lambda: not self.traffic(name), f"the end of the run on {name}", longest_s)
        self.assert_clean(name)
        return time.monotonic() - begun


def wait_until(there: Callable[[], bool], what: str, longest_s: float = _PATIENCE_S) -> None:
    """Poll until the condition is true."""
    until = time.monotonic() + longest_s
    while not there():
        assert time.monotonic() < until, f"{what} did not happen within {longest_s:g} s"
        time.sleep(0.2)


def refused_as_busy(document: Mapping[str, Any]) -> bool:
    """Whether a run was refused because a host was busy before it, or did not keep up."""
    errors = [run["error"] for run in document.get("runs", []) if "error" in run]
    return any(
        words in error["what"] for error in errors for words in ("host kept up: ", "its processors are busy for ")
    )


def only_run(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document of the one run of a result."""
    (run,) = document["runs"]
    return dict(run)
