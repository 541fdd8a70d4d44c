"""Makes hosts endpoints and puts them back, through the playbooks; the only module that starts Ansible.

    inventory   how Ansible reaches hosts
    policy      which hosts there are and what they may be used for: what it says is given to Ansible above all that an inventory says
    playbooks/  what is done; each task's outcome on each host comes back as an event

It promises a sentence for each host on which something went wrong, while the others go on, and that hosts which the policy does not
name are not touched.
"""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul.orchestrator.spec.host_policy import limits_of, load_policy
from longhaul.orchestrator.system.errors import BackendUnavailable, PlanError
from longhaul.orchestrator.system.installation import AGENT, KMOD, PLAYBOOKS
from longhaul.orchestrator.system.process import ask_program, run_script
from longhaul.orchestrator.system.settings import Settings

try:
    import ansible_runner
except ImportError:
    # An installation that is for runs alone.
    remedy = "run `pip install 'longhaul[hosts]'`, or in a checkout `pip install --require-hashes -r requirements-hosts.lock`"
    raise BackendUnavailable("hosts", [("Ansible", remedy)]) from None

_PROGRAMS = Path(sysconfig.get_path("scripts"))
_GROUP = "endpoints"
_LONGEST_S = 3600
# What Ansible calls its own look at a role's variables.
_VALIDATION = "Validating arguments"
# Of what a program said on a host.
_LONGEST = 600

# host, task, how it went: ok, changed, failed, unreachable, skipped
Watcher = Callable[[str, str, str], None]


@dataclass(slots=True)
class HostOutcome:
    """What came of one host."""

    host: str
    status: str = "ok"
    changed: list[str] = field(default_factory=list)
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """For documents."""
        return {"host": self.host, "status": self.status, "changed": self.changed, "problem": self.problem}


def deploy(
    settings: Settings, inventory: Path, watch: Watcher, *, check: bool, modules: Path | None = None
) -> list[HostOutcome]:
    """Make the inventory's endpoints what the policy says; with `check` only find out what that would change."""
    hosts = endpoints(inventory)
    policy = load_policy(settings)
    limits = {host: limits_of(policy, host) for host in hosts}
    if not AGENT.is_file():
        raise BackendUnavailable("hosts", [("the agent", "run `longhaul agent build`")])
    if modules is not None and not modules.is_dir():
        what = "there is no such folder"
        raise PlanError(
            "reading modules for hosts from", str(modules), what, "it holds a folder for each kernel's release"
        )
    with tempfile.TemporaryDirectory(prefix="longhaul-deploy-") as folder:
        given = {
            "longhaul_limits": limits,
            "agent_limits": "{{ longhaul_limits[inventory_hostname] }}",
            "agent_binary": str(AGENT),
            "agent_version": ask_program([str(AGENT), "version"], "asking the agent").strip(),
            # The queues of a middle box are those of runs.
            "tuning_interface": "{{ '' if agent_limits.emulates else agent_limits.device }}",
            "kmod_controls": controls(),
            "kmod_sources": str(_packed_sources(Path(folder))),
            "kmod_prebuilt": "" if modules is None else str(_packed_modules(modules, Path(folder))),
        }
        return _play("endpoints.yml", inventory, hosts, given, watch, check=check, attempting="deploying to")


def restore(inventory: Path, watch: Watcher, *, check: bool) -> list[HostOutcome]:
    """Put the inventory's endpoints back as they were found."""
    return _play("restore.yml", inventory, endpoints(inventory), {}, watch, check=check, attempting="restoring")


def endpoints(inventory: Path) -> list[str]:
    """The names of an inventory's endpoints."""
    if not inventory.exists():
        raise PlanError(
            "reading inventory", str(inventory), "there is no such file", "see playbooks/inventory.example.yml"
        )
    with tempfile.TemporaryDirectory(prefix="longhaul-deploy-") as folder:
        listed, said, code = ansible_runner.run_command(
            executable_cmd=str(_PROGRAMS / "ansible-inventory"),
            cmdline_args=["--list", "--inventory", str(inventory.resolve())],
            private_data_dir=folder,
            envvars=_environment(Path(folder)),
            quiet=True,
            # Warnings on a channel of their own.
            runner_mode="subprocess",
        )
    if code or "Unable to parse" in said:
        why = next((line for line in said.splitlines() if "WARN" in line or "ERROR" in line), said.strip()[-_LONGEST:])
        what = _plain(why).removeprefix("[WARNING]: ").rstrip(".")
        raise PlanError("reading inventory", str(inventory), what, "see playbooks/inventory.example.yml")
    found = json.loads(listed)
    hosts = found.get(_GROUP, {}).get("hosts", [])
    if not hosts:
        what = f"it has no hosts in a group {_GROUP}"
        raise PlanError("reading inventory", str(inventory), what, "see playbooks/inventory.example.yml")
    return [str(host) for host in hosts]


def controls() -> list[str]:
    """The modules of the congestion controls of this installation."""
    return sorted(file.stem for file in KMOD.glob("tcp_*.c"))


def _packed_sources(folder: Path) -> Path:
    """The modules as DKMS wants them, as one file."""
    words = [str(KMOD / "dkms.sh"), "install"]
    run_script(words, "packaging the modules for DKMS", {"DESTDIR": str(folder)})
    (package,) = (folder / "usr" / "src").iterdir()
    return _pack(sorted(package.iterdir()), package.name, folder / f"{package.name}.tar")


def _packed_modules(modules: Path, folder: Path) -> Path:
    """A folder with one file for each kernel that modules were built for."""
    packed = folder / "prebuilt"
    packed.mkdir()
    for release in sorted(modules.iterdir()):
        if files := sorted(release.glob("*.ko")):
            _pack(files, ".", packed / f"{release.name}.tar")
    return packed


def _pack(files: Sequence[Path], inside: str, archive: Path) -> Path:
    """The same files give the same archive; they are root's on a host."""
    with tarfile.open(archive, "w") as tar:
        for file in files:
            about = tar.gettarinfo(file.resolve(), f"{inside}/{file.name}")
            about.mtime, about.uid, about.gid, about.uname, about.gname = 0, 0, 0, "root", "root"
            about.mode = 0o755 if about.mode & 0o100 else 0o644
            with file.open("rb") as content:
                tar.addfile(about, content)
    return archive


def _environment(folder: Path) -> dict[str, str]:
    return {
        # Of this installation, whatever else the machine has; nothing of it is kept in a home.
        "PATH": f"{_PROGRAMS}:{os.defpath}:/usr/sbin:/sbin",
        "ANSIBLE_HOME": str(folder / "home"),
        # Connections are shared by the tasks of one play alone: what has the same address elsewhere is another host.
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "LC_ALL": "C.UTF-8",
        "PYTHONWARNINGS": "ignore",
    }


def _play(
    playbook: str,
    inventory: Path,
    hosts: Sequence[str],
    given: dict[str, Any],
    watch: Watcher,
    *,
    check: bool,
    attempting: str,
) -> list[HostOutcome]:
    """Run a playbook; each host's outcome, in the inventory's order."""
    outcomes = {host: HostOutcome(host) for host in hosts}

    def hear(event: dict[str, Any]) -> bool:
        kind, data = event["event"], event.get("event_data", {})
        outcome = outcomes.get(data.get("host", ""))
        if outcome is not None and kind.startswith("runner_on_") and kind != "runner_on_start":
            how = _hear_task(outcome, kind.removeprefix("runner_on_"), data, attempting)
            watch(outcome.host, data["task"], how)
        return False

    with tempfile.TemporaryDirectory(prefix="longhaul-deploy-") as folder:
        done = ansible_runner.run(
            private_data_dir=folder,
            playbook=str(PLAYBOOKS / playbook),
            inventory=str(inventory.resolve()),
            extravars=given,
            envvars=_environment(Path(folder)),
            cmdline="--check" if check else None,
            event_handler=hear,
            quiet=True,
            timeout=_LONGEST_S,
        )
        if done.rc and all(outcome.status in ("ok", "changed") for outcome in outcomes.values()):
            # It ended before it came to any host.
            said = done.stdout.read() + done.stderr.read()
            raise BackendUnavailable("hosts", [], f"{playbook}: {_plain(said)[-_LONGEST:]}")
    return list(outcomes.values())


def _hear_task(outcome: HostOutcome, kind: str, data: dict[str, Any], attempting: str) -> str:
    """Note what a task came to on a host; in one word."""
    said = data.get("res") or {}
    if kind == "ok" and said.get("changed"):
        outcome.changed.append(data["task"])
        outcome.status = "changed" if outcome.status == "ok" else outcome.status
        return "changed"
    if kind == "unreachable":
        outcome.status = "unreachable"
        hint = "check its address, its sshd and your key"
        outcome.problem = f"{attempting} {outcome.host}: it cannot be reached: {_plain(said.get('msg', ''))}; {hint}"
    elif kind == "failed" and not data.get("ignore_errors"):
        outcome.status = "failed"
        outcome.problem = f"{attempting} {outcome.host}: {data['task']}: {_why(said)}"
        return "failed"
    return kind


def _why(said: dict[str, Any]) -> str:
    """The sentence of a task that failed: its own, and the last words of a program where one failed."""
    failed = [one for one in said.get("results", []) if isinstance(one, dict) and one.get("failed")]
    if failed:
        said = failed[0]
    words = str(said.get("stderr") or said.get("stdout") or "").strip()
    if "cmd" in said and words:
        command = said["cmd"] if isinstance(said["cmd"], str) else " ".join(said["cmd"])
        return f"`{command}` ended with {said.get('rc')}: {_plain(words)[-_LONGEST:]}"
    return _plain(str(said.get("msg") or said))[-_LONGEST:]


def _plain(text: str) -> str:
    """On one line, without colours."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())


def says(sink: Any = None) -> Watcher:
    """A line for each task of each host, as it comes."""

    def say(host: str, task: str, how: str) -> None:
        if how != "skipped" and not task.startswith(_VALIDATION):
            print(f"{host:<16} {how:<12} {task}", file=sink or sys.stderr, flush=True)

    return say
