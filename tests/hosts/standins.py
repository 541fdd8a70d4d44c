"""Machines that stand in for physical hosts: User-Mode-Linux guests in real time, each with its own kernel, disk, sshd and systemd,
and a router between them that emulates a path.

    alpha vec1 10.1.0.2 --- 10.1.0.1 router 10.2.0.1 --- 10.2.0.2 vec1 beta         test traffic, through the path
      vec0 10.77.0.11           10.77.0.10                 10.77.0.12 vec0          ssh, from this process (10.77.0.1)

They have what a deployment finds on a host: real SSH, real systemd, modules loaded by a real kernel, a disk that survives a power cut.
They are not for numbers: their kernels get the processor time that the machine has left. They end with this process, however it ends.

    python -m tests.hosts.standins alpha beta -- COMMAND...     in their network, while they live; a shell by default
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from longhaul.orchestrator.system.guard import Guard, start_guard
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.locks import locked, take
from longhaul.orchestrator.system.process import run_script
from longhaul.orchestrator.system.settings import load_settings
from tests.hosts import wires
from tests.hosts.files import KERNEL, host_keys, setup_script, ssh_config, write_disk
from tests.support.programs import run_program

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
ROUTER = "router"
_MEMORY_MB = 512
_BOOT_S = 300.0
_WALL_S = 86_400
_INTERFACE = "vec1"
_LATENESS_MS = 10
_PREFIX = "longhaul-standins-"
_LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class Machine:
    """One stand-in: where SSH finds it, and its card and address for test traffic (the router has many)."""

    name: str
    address: str
    interface: str = ""
    test_address: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The router's path emulation for packets towards any endpoint."""

    rate_bps: int
    one_way_us: int
    buffer_bytes: int
    loss: float = 0.0


class Lab:
    """Stand-ins that run, and what is needed to reach them; `with` ends them."""

    def __init__(self, folder: Path, names: Sequence[str], *, compilers: Collection[str] = ()) -> None:
        self.folder = folder
        self.ssh_config = folder / "ssh_config"
        self.inventory = folder / "inventory.yml"
        self.policy = folder / "hosts.yml"
        self.router = Machine(ROUTER, "10.77.0.10")
        self.hosts = {
            name: Machine(name, f"10.77.0.{10 + i}", _INTERFACE, f"10.{i}.0.2") for i, name in enumerate(names, start=1)
        }
        self._compilers = compilers
        self._kernel = Path(run_script([str(HERE / "kernel" / "build.sh"), KERNEL], "building the stand-ins' kernel"))
        self._tree = Path(run_script([str(HERE / "tree.sh")], "making the stand-ins' files"))
        self._guards: dict[str, Guard] = {}

    @property
    def release(self) -> str:
        """The name of their kernel."""
        release: str = json.loads((self._kernel / "manifest.json").read_text())["kernelrelease"]
        return release

    def __enter__(self) -> Self:
        wires.enter()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._set_up_network()
            for machine in (self.router, *self.hosts.values()):
                self._furnish(machine)
                self.power_on(machine.name)
            self.wait(*self.hosts, ROUTER)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._guards):
            self.power_off(name)
        for name in self.hosts:
            for device in (f"m-{name}", f"t-{name}", f"r-{name}", f"b-{name}"):
                subprocess.run(["ip", "link", "delete", device], capture_output=True, check=False)
        for device in (f"m-{ROUTER}", "manage"):
            subprocess.run(["ip", "link", "delete", device], capture_output=True, check=False)

    def _set_up_network(self) -> None:
        wires.bridge("manage", "10.77.0.1/24")
        wires.tap(f"m-{ROUTER}", "manage")
        for name in self.hosts:
            wires.tap(f"m-{name}", "manage")
            wires.bridge(f"b-{name}")
            wires.tap(f"t-{name}", f"b-{name}")
            wires.tap(f"r-{name}", f"b-{name}")
        key = self.folder / "key"
        if not key.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "stand-ins", "-f", key], check=True)
        machines = [self.router, *self.hosts.values()]
        known = self.folder / "known_hosts"
        known.write_text("".join(f"{m.address} {host_keys(self._tree)}\n" for m in machines))
        self.ssh_config.write_text(ssh_config([(m.name, m.address) for m in machines], key, known))
        self._write_inventory()
        self._write_policy()

    def _write_policy(self) -> None:
        """All hosts may exchange traffic with one another; the path between the first two is provisioned."""
        hosts = {
            name: {
                "ssh": {"address": machine.address, "user": "root"},
                "traffic": {"address": machine.test_address, "device": machine.interface},
                "ports": "10000-10099",
                "rate": "100 Mbit/s",
                "run_volume": "2 GB",
                "day_volume": "50 GB",
                "longest": "10 min",
            }
            for name, machine in self.hosts.items()
        }
        names = list(hosts)
        paths = [
            {"between": [one, other], "provisioned": {one, other} == set(names[:2])}
            for i, one in enumerate(names)
            for other in names[i + 1 :]
        ]
        # Their clocks are not synchronised.
        whole = {"clock_limit": "1 s", "ssh_config": str(self.ssh_config), "hosts": hosts, "paths": paths}
        self.policy.write_text(json.dumps(whole, indent=1))

    def _write_inventory(self) -> None:
        hosts: dict[str, dict[str, Any]] = {name: {} for name in self.hosts}
        # A compiler in a stand-in takes a minute for a build that takes this machine seconds.
        reach = {
            "ansible_ssh_common_args": f"-F {self.ssh_config}",
            "ansible_python_interpreter": "/usr/bin/python3",
            # The machine that they share may have other work.
            "ansible_ssh_timeout": 60,
            "kmod_method": "prebuilt",
        }
        self.inventory.write_text(json.dumps({"endpoints": {"hosts": hosts, "vars": reach}}, indent=1))

    def _furnish(self, machine: Machine) -> None:
        own = self.folder / machine.name
        own.mkdir(exist_ok=True)
        addresses = [f"{machine.address}/24"]
        if machine.name == ROUTER:
            addresses += [f"10.{i}.0.1/24" for i in range(1, len(self.hosts) + 1)]
        else:
            addresses.append(f"{machine.test_address}/24")
        shutil.copytree(self._kernel / "modules", own / "modules", dirs_exist_ok=True)
        script = setup_script(
            machine.name,
            addresses,
            gateway="" if machine.name == ROUTER else machine.test_address[:-1] + "1",
            key=(self.folder / "key.pub").read_text().strip(),
            release=self.release,
            headers=self._kernel / "tree" if machine.name in self._compilers else None,
        )
        (own / "setup").write_text(script)
        write_disk(own / "disk")

    def power_on(self, name: str) -> None:
        """Start it with the disk that it has; `wait` for its sshd."""
        own = self.folder / name
        taps = [f"m-{name}"] + ([f"r-{one}" for one in self.hosts] if name == ROUTER else [f"t-{name}"])
        digest = hashlib.sha256(name.encode()).hexdigest()
        cards = [
            f"vec{i}:transport=tap,ifname={tap},depth=64,gro=1,mac=02:00:{digest[:2]}:{digest[2:4]}:{digest[4:6]}:{i:02x}"
            for i, tap in enumerate(taps)
        ]
        words = [
            *(str(self._kernel / "linux"), f"mem={_MEMORY_MB}M", f"ubd0={own / 'disk'}"),
            *("root=/dev/root", "rootfstype=hostfs", f"rootflags={self._tree / 'root'}", "ro"),
            *("init=/opt/standin/init", f"standin={own}", f"umid=lh-{os.urandom(8).hex()}"),
            *("con0=null,fd:1", "con=null", "ssl=null", "quiet", "loglevel=5", "panic=-1", *cards),
        ]
        guard = ["guard", "--wall-s", str(_WALL_S), "--dir", str(own), "--"]
        environment = {"HOME": str(own), "TMPDIR": str(load_settings().guest_memory_dir), "PATH": "/usr/bin:/bin"}
        self._guards[name] = start_guard([str(AGENT), *guard, *words], own / "log.txt", environment)

    def power_off(self, name: str) -> None:
        """End it as a power cut does; the disk stays as it is."""
        if guard := self._guards.pop(name, None):
            guard.close()

    def wait(self, *names: str) -> None:
        """Wait until sshd of each stand-in answers."""
        with concurrent.futures.ThreadPoolExecutor(len(names)) as at_once:
            list(at_once.map(self._wait, names))

    def _wait(self, name: str) -> None:
        machine = self.router if name == ROUTER else self.hosts[name]
        until = time.monotonic() + _BOOT_S
        while not _greets(machine.address):
            log = (self.folder / name / "log.txt").read_text(errors="replace")[-2000:]
            assert self._guards[name].wait(0) is None, f"{name} ended while it started: {log}"
            assert time.monotonic() < until, f"{name} did not answer in {_BOOT_S:.0f} s: {log}"
            time.sleep(0.1)

    def run(self, name: str, command: str, *, stdin: str = "", check: bool = True, timeout_s: float = 300.0) -> str:
        """The output of a shell command on a stand-in, over a connection that stays open; `stdin` is its standard input."""
        words = ["ssh", "-F", str(self.ssh_config), name, command]
        done = run_program(words, input=stdin, timeout=timeout_s)
        assert not check or done.returncode == 0, f"{name}: {command}: {done.returncode}: {done.stderr[-2000:]}"
        return done.stdout

    def cut(self, name: str) -> None:
        """Disconnect its ssh card in both directions."""
        # A card that is down would not come back: its kernel abandons a device that refuses a packet.
        wires.ip("link", "set", f"m-{name}", "nomaster")

    def mend(self, name: str) -> None:
        """Reconnect its ssh card."""
        wires.ip("link", "set", f"m-{name}", "master", "manage")

    def set_path(self, path: Conditions) -> None:
        """Change what the router does, in both directions, and read it back: delay first, then rate and buffer.

        Its timers are late on a machine that has other work; a limiter without credit for that would lose rate (target.py).
        """
        burst = 3200 + path.rate_bps * _LATENESS_MS // 8000
        for i in range(1, len(self.hosts) + 1):
            loss = f" loss {path.loss * 100:g}%" if path.loss else ""
            commands = [
                f"tc qdisc replace dev vec{i} root handle 1: netem delay {path.one_way_us}us{loss} limit 100000",
                f"tc qdisc replace dev vec{i} parent 1:1 handle 2: tbf rate {path.rate_bps} burst {burst} limit {path.buffer_bytes}",
            ]
            self.run(ROUTER, " && ".join(commands))
            kinds = [one["kind"] for one in json.loads(self.run(ROUTER, f"tc -j qdisc show dev vec{i}"))]
            assert kinds == ["netem", "tbf"], f"the router has {kinds} on vec{i}"


def _greets(address: str) -> bool:
    """Does an sshd greet at this address?"""
    try:
        with socket.create_connection((address, 22), timeout=1.0) as connection:
            # Each connection starts another sshd. On a busy machine that takes seconds, and asking again makes it take longer.
            connection.settimeout(60.0)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


@contextlib.contextmanager
def start(names: Sequence[str], *, compilers: Collection[str] = ()) -> Iterator[Lab]:
    """Stand-ins of these names and a router, in a folder that is removed with them; `compilers` can build modules."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        lock = take(Path(folder) / _LOCK)
        try:
            with Lab(Path(folder), names, compilers=compilers) as lab:
                yield lab
        finally:
            os.close(lock)


def _sweep() -> None:
    """Remove the folders of killed processes; their stand-ins ended with them."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError), locked(lock, wait=False):
            shutil.rmtree(lock.parent)


def main(words: Sequence[str]) -> int:
    names = list(words[: words.index("--")] if "--" in words else words)
    command = list(words[words.index("--") + 1 :]) if "--" in words else ["bash"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with start(names or ["alpha", "beta"]) as lab:
        environment = {"STANDINS": str(lab.folder), "PS1": "standins# "}
        return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
