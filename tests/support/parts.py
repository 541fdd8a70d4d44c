"""The processes of a lab, each real: PostgreSQL, Dask's scheduler, workers, the service. They can be killed and started again."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from longhaul.orchestrator.system.settings import load_settings
from tests.support.waiting import is_ready, wait_for

_BIN = Path(sys.executable).parent
_ANSWER_S = 120.0


def free_port() -> int:
    """A free port of loopback; a part keeps it over its restarts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Part:
    """A process that tests can kill and start again."""

    def __init__(
        self, name: str, argv: Sequence[str], folder: Path, environment: Mapping[str, str], user: str | None = None
    ) -> None:
        self.name = name
        self._argv = list(argv)
        self._log = folder / f"{name}.log"
        self._environment = {**os.environ, **environment}
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
                user=self._user,
            )

    def kill(self) -> None:
        """Kill it without a chance to clean up."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Terminate it, and kill it if that takes too long."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for_output(self, words: str, times: int = 1) -> None:
        wait_for(
            lambda: self.log().count(words) >= times,
            _ANSWER_S,
            lambda: f"{self.name} never printed {words!r}:\n{self.log()[-3000:]}",
        )


class Postgres(Part):
    """A separate PostgreSQL in a separate folder, run by an ordinary user."""

    def __init__(self, folder: Path) -> None:
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not binaries:
            pytest.fail("there is no PostgreSQL: run `./setup.sh service`", pytrace=False)
        self._binaries = binaries[-1]
        self.port = free_port()
        # In memory where there is such a folder: tests kill processes, not machines.
        self._data = Path(tempfile.mkdtemp(prefix="longhaul-postgres-", dir=load_settings().guest_memory_dir))
        # PostgreSQL refuses root.
        user = "postgres" if os.geteuid() == 0 else None
        if user:
            os.chown(self._data, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        subprocess.run(
            [str(self._binaries / "initdb"), "-D", str(self._data), "-U", "longhaul", "--auth=trust", "--no-sync"],
            check=True,
            capture_output=True,
            user=user,
        )
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._data,
            "fsync": "off",
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        super().__init__(
            "postgres", [str(self._binaries / "postgres"), "-D", str(self._data), *words], folder, {}, user
        )

    @property
    def programs(self) -> Path:
        """The folder of PostgreSQL's programs."""
        return self._binaries

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://longhaul@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        # A killed server leaves its pid file, and children that end when they notice.
        super().start()
        until = time.monotonic() + _ANSWER_S
        ready = [str(self._binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", "longhaul"]
        while subprocess.run(ready, check=False).returncode:
            if self._process is not None and self._process.poll() is not None:
                super().start()
            assert time.monotonic() < until, f"PostgreSQL did not start: {self.log()[-2000:]}"
            time.sleep(0.05)

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self._data, ignore_errors=True)

    def create(self, database: str) -> str:
        """Create a database and return its address."""
        words = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "longhaul", database]
        subprocess.run([str(self._binaries / "createdb"), *words], check=True)
        return self.url(database)


class DaskScheduler(Part):
    """`dask scheduler`, on a port that it keeps."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        argv = [str(_BIN / "dask"), "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        super().__init__("scheduler", argv, folder, {})


class DaskWorker(Part):
    """`longhaul worker`; `child` is the process that runs the runs."""

    def __init__(self, folder: Path, scheduler: str, slots: int, cache: Path, name: str = "worker") -> None:
        argv = [str(_BIN / "longhaul"), "worker", "--scheduler", scheduler, "--slots", str(slots)]
        environment = {"LONGHAUL_HOME": str(folder / f"{name}-home"), "LONGHAUL_CACHE": str(cache)}
        super().__init__(name, argv, folder, environment)

    @property
    def child(self) -> int | None:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def kill_child(self) -> None:
        """Kill the process that runs the runs; the watcher has to start another."""
        if (child := self.child) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


class Service(Part):
    """`longhaul serve`, with its dispatcher."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        argv = [str(_BIN / "longhaul"), "serve", "--port", str(self.port)]
        super().__init__("service", argv, folder, environment)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def dispatcher(self) -> int | None:
        children = [
            child
            for task in Path(f"/proc/{self.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        return int(children[0]) if children else None

    def kill_dispatcher(self) -> None:
        if (dispatcher := self.dispatcher) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(dispatcher, signal.SIGKILL)

    def wait_until_ready(self) -> None:
        wait_for(lambda: is_ready(f"{self.url}/healthz"), _ANSWER_S, lambda: self.log()[-2000:])


def copy_of_cache(cache: Path, folder: Path) -> Path:
    """Copy the parts of a cache that runs need. Not all of it: images of containers have a /dev/full, whose copy never ends."""
    folder.mkdir()
    for kind in ("kernels", "modules"):
        shutil.copytree(cache / kind, folder / kind, symlinks=True, ignore=shutil.ignore_patterns("tree", ".build*"))
    return folder
