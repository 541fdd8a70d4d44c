"""Stand-ins as a person meets them: deployments by the command line, what was found on a host before anything was done, and what is there now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.process import run_script
from tests.hosts.files import KERNEL
from tests.hosts.standins import REPOSITORY, Lab

MEASURED: list[str] = []
# Ansible in a stand-in takes what processors there are, and a run that is to be believed needs some: plays go beside one another, and
# such a run beside nothing, also where several pairs of stand-ins are tested at once. What only waits does so beside either.
QUIET = Path(tempfile.gettempdir()) / "longhaul-standins.quiet"
_LONGHAUL = Path(sys.executable).parent / "longhaul"


def measured(what: str) -> None:
    """A number for whoever reads the tests' output; none of them is asserted, since this machine has other work."""
    MEASURED.append(what)


@dataclass(frozen=True)
class Said:
    """What `longhaul hosts` came to."""

    code: int
    hosts: dict[str, dict[str, Any]]
    messages: str


class Bench:
    """Stand-ins, and the verbs that are tried on them."""

    def __init__(self, lab: Lab, home: Path, modules: Path) -> None:
        self.lab = lab
        self._home = home
        self.modules = modules
        self.before = {name: self.snapshot(name) for name in lab.hosts}
        self.is_deployed = False

    @property
    def environment(self) -> dict[str, str]:
        """Of a person who is the operator of this lab."""
        return {**os.environ, "LONGHAUL_HOSTS": str(self.lab.policy), "LONGHAUL_HOME": str(self._home)}

    def hosts(self, verb: str, *words: str, inventory: Path | None = None) -> Said:
        """`longhaul hosts VERB INVENTORY --json`."""
        if verb in ("deploy", "check"):
            words = (*words, "--modules", str(self.modules))
        with locked(QUIET, shared=True):
            begun_s = time.monotonic()
            done = subprocess.run(
                [_LONGHAUL, "hosts", verb, inventory or self.lab.inventory, "--json", *words],
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            measured(f"hosts {verb}: {time.monotonic() - begun_s:.0f} s")
        self.is_deployed = verb == "deploy" or (self.is_deployed and verb != "restore")
        found = {one["host"]: one for one in json.loads(done.stdout).get("hosts", [])}
        return Said(done.returncode, found, done.stderr)

    def deployed(self, *words: str, inventory: Path | None = None) -> Said:
        said = self.hosts("deploy", *words, inventory=inventory)
        assert said.code == 0, said.messages
        return said

    def restored(self, inventory: Path | None = None) -> None:
        said = self.hosts("restore", inventory=inventory)
        assert said.code == 0, said.messages
        self.assert_as_found("alpha", "beta")

    def inventory(self, folder: Path, **more: dict[str, str]) -> Path:
        """The lab's inventory with more variables for hosts, or more hosts."""
        inventory = json.loads(self.lab.inventory.read_text())
        for name, variables in more.items():
            inventory["endpoints"]["hosts"].setdefault(name, {}).update(variables)
        file = folder / "inventory.yml"
        file.write_text(json.dumps(inventory))
        return file

    def snapshot(self, name: str) -> dict[str, Any]:
        """How a stand-in looks: by a program of its own, not by what a deployment believes."""
        program = (REPOSITORY / "playbooks/module_utils/longhaul_host.py").read_text()
        found: dict[str, Any] = json.loads(self.lab.run(name, "python3 -", told=program))
        return found

    def assert_as_found(self, *names: str) -> None:
        for name in names:
            found = _differences(self.before[name], self.snapshot(name))
            assert found == [], f"{name} differs from how it was found: {found}"


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """A line each: what was, and what is."""
    lines = []
    for part, found in now.items():
        was = before[part]
        if not isinstance(found, dict):
            was, found = {"": was}, {"": found}
        lines += [
            f"{part} {key}: {was.get(key)!r} -> {found.get(key)!r}"
            for key in sorted({*was, *found})
            if was.get(key) != found.get(key)
        ]
    return lines


def built_elsewhere(folder: Path, release: str) -> Path:
    """A folder of modules as `--modules` takes it."""
    script = REPOSITORY / "kmod" / "sandbox" / "build-modules.sh"
    built = Path(run_script([str(script), KERNEL], "building modules for stand-ins"))
    (folder / release).mkdir()
    for file in [*built.glob("tcp_*.ko"), *built.glob("sch_*.ko")]:
        (folder / release / file.name).symlink_to(file)
    return folder
