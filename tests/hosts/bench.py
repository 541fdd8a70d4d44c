"""Stand-ins as a user sees them: deployments by the command line, and snapshots of each host before and after."""

from __future__ import annotations

import json
import os
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
from tests.support.programs import run_program

MEASURED: list[str] = []
# Ansible in a stand-in takes all processors, and a run with valid numbers needs some: plays may overlap, such a run has the machine
# to itself, also where several pairs of stand-ins are tested at once. Tests that only wait may overlap with both.
QUIET = Path(tempfile.gettempdir()) / "longhaul-standins.quiet"
_LONGHAUL = Path(sys.executable).parent / "longhaul"


def measured(what: str) -> None:
    """Keep a number for the tests' output; none is asserted, since this machine has other work."""
    MEASURED.append(what)


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of `longhaul hosts`."""

    code: int
    hosts: dict[str, dict[str, Any]]
    messages: str


class Bench:
    """Stand-ins, and the `longhaul hosts` verbs that tests run on them."""

    def __init__(self, lab: Lab, home: Path, modules: Path) -> None:
        self.lab = lab
        self._home = home
        self.modules = modules
        self.before = {name: self.snapshot(name) for name in lab.hosts}
        self.is_deployed = False

    @property
    def environment(self) -> dict[str, str]:
        """The environment of this lab's operator."""
        return {**os.environ, "LONGHAUL_HOSTS": str(self.lab.policy), "LONGHAUL_HOME": str(self._home)}

    def hosts(self, verb: str, *words: str, inventory: Path | None = None) -> Outcome:
        """`longhaul hosts VERB INVENTORY --json`."""
        if verb in ("deploy", "check"):
            words = (*words, "--modules", str(self.modules))
        with locked(QUIET, shared=True):
            begun_s = time.monotonic()
            done = run_program(
                [_LONGHAUL, "hosts", verb, inventory or self.lab.inventory, "--json", *words], env=self.environment
            )
            measured(f"hosts {verb}: {time.monotonic() - begun_s:.0f} s")
        self.is_deployed = verb == "deploy" or (self.is_deployed and verb != "restore")
        found = {one["host"]: one for one in json.loads(done.stdout).get("hosts", [])}
        return Outcome(done.returncode, found, done.stderr)

    def deployed(self, *words: str, inventory: Path | None = None) -> Outcome:
        outcome = self.hosts("deploy", *words, inventory=inventory)
        assert outcome.code == 0, outcome.messages
        return outcome

    def restored(self, inventory: Path | None = None) -> None:
        outcome = self.hosts("restore", inventory=inventory)
        assert outcome.code == 0, outcome.messages
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
        """The state of a stand-in, read by a separate program and not from the deployment's report."""
        program = (REPOSITORY / "playbooks/module_utils/longhaul_host.py").read_text()
        found: dict[str, Any] = json.loads(self.lab.run(name, "python3 -", stdin=program))
        return found

    def assert_as_found(self, *names: str) -> None:
        for name in names:
            found = _differences(self.before[name], self.snapshot(name))
            assert found == [], f"{name} differs from how it was found: {found}"


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """One line for each difference: the former and the present value."""
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
