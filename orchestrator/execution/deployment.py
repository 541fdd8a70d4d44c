"""Makes hosts endpoints and restores them, through the playbooks; the only module that starts Ansible.

    inventory   how Ansible reaches hosts
    policy      which hosts there are and what they may be used for: Ansible gets its values above all values of an inventory
    playbooks/  the tasks; each task's outcome on each host comes back as an event

Each host on which a task failed gets one sentence, while the others continue; hosts that the policy does not name are not touched.
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
from dataclasses import field
from pathlib import Path
from typing import Any

from longhaul.orchestrator.kernels.prebuilt import provide_agent
from longhaul.orchestrator.spec.host_policy import limits_of, load_policy
from longhaul.orchestrator.system.errors import BackendUnavailable, PlanError
from longhaul.orchestrator.system.extras import need
from longhaul.orchestrator.system.installation import AGENT, KMOD, PLAYBOOKS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import ask_program, run_script
from longhaul.orchestrator.system.settings import Settings

try:
    import ansible_runner
except ImportError:
    need("hosts")
    raise

_PROGRAMS = Path(sysconfig.get_path("scripts"))
_GROUP = "endpoints"
_LONGEST_S = 3600
# Ansible's name for its own check of a role's variables.
_VALIDATION = "Validating arguments"
# Characters of a program's output on a host.
_LONGEST = 600

# host, task, outcome: ok, changed, failed, unreachable, skipped
Watcher = Callable[[str, str, str], None]


@dataclass(slots=True)
class HostOutcome:
    """The outcome of one host."""

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
    """Configure the inventory's endpoints by the policy; with `check` only list the changes."""
    hosts = endpoints(inventory)
    policy = load_policy(settings)
    limits = {host: limits_of(policy, host) for host in hosts}
    provide_agent(settings)
    if not AGENT.is_file():
        raise BackendUnavailable("hosts", [("the agent", "run `longhaul agent build`")])
    if modules is not None and not modules.is_dir():
        what = "there is no such folder"
        raise PlanError(
            "reading modules for hosts from", str(modules), what, "it contains a folder for each kernel's release"
        )
    with tempfile.TemporaryDirectory(prefix="longhaul-deploy-") as folder:
        variables = {
            "longhaul_limits": limits,
            "agent_limits": "{{ longhaul_limits[inventory_hostname] }}",
            "agent_binary": str(AGENT),
            "agent_version": ask_program([str(AGENT), "version"], "asking the agent").strip(),
            # The queues of a middle box are set by runs.
            "tuning_interface": "{{ '' if agent_limits.emulates else agent_limits.device }}",
            "kmod_controls": controls(),
            "kmod_sources": str(_packed_sources(Path(folder))),
            "kmod_prebuilt": "" if modules is None else str(_packed_modules(modules, Path(folder))),
        }
        return _play("endpoints.yml", inventory, hosts, variables, watch, check=check, attempting="deploying to")


def restore(inventory: Path, watch: Watcher, *, check: bool) -> list[HostOutcome]:
    """Restore the settings that the inventory's endpoints had before."""
    return _play("restore.yml", inventory, endpoints(inventory), {}, watch, check=check, attempting="restoring")


def endpoints(inventory: Path) -> list[str]:
    """The names of an inventory's endpoints."""
    if not inventory.exists():
        raise PlanError(
            "reading inventory", str(inventory), "there is no such file", "see playbooks/inventory.example.yml"
        )
    with tempfile.TemporaryDirectory(prefix="longhaul-deploy-") as folder:
        listed, printed, code = ansible_runner.run_command(
            executable_cmd=str(_PROGRAMS / "ansible-inventory"),
            cmdline_args=["--list", "--inventory", str(inventory.resolve())],
            private_data_dir=folder,
            envvars=_environment(Path(folder)),
            quiet=True,
            # Warnings on a separate channel.
            runner_mode="subprocess",
        )
    if code or "Unable to parse" in printed:
        why = next(
            (line for line in printed.splitlines() if "WARN" in line or "ERROR" in line), printed.strip()[-_LONGEST:]
        )
        what = _plain(why).removeprefix("[WARNING]: ").rstrip(".")
        raise PlanError("reading inventory", str(inventory), what, "see playbooks/inventory.example.yml")
    found = json.loads(listed)
    hosts = found.get(_GROUP, {}).get("hosts", [])
    if not hosts:
        what = f"it has no hosts in a group {_GROUP}"
        raise PlanError("reading inventory", str(inventory), what, "see playbooks/inventory.example.yml")
    return [str(host) for host in hosts]


def controls() -> list[str]:
    """The names of this installation's congestion-control modules."""
    return sorted(file.stem for file in KMOD.glob("tcp_*.c"))


def _packed_sources(folder: Path) -> Path:
    """The modules as DKMS wants them, as one file."""
    command = [str(KMOD / "dkms.sh"), "install"]
    run_script(command, "packaging the modules for DKMS", {"DESTDIR": str(folder)})
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
    """The same files give the same archive; root owns them on a host."""
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
        # From this installation, whatever else the machine has; no file of it is kept in a home.
        "PATH": f"{_PROGRAMS}:{os.defpath}:/usr/sbin:/sbin",
        "ANSIBLE_HOME": str(folder / "home"),
        # Only the tasks of one play share connections: the same address elsewhere is another host.
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "LC_ALL": "C.UTF-8",
        "PYTHONWARNINGS": "ignore",
    }


def _play(
    playbook: str,
    inventory: Path,
    hosts: Sequence[str],
    variables: dict[str, Any],
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
            extravars=variables,
            envvars=_environment(Path(folder)),
            cmdline="--check" if check else None,
            event_handler=hear,
            quiet=True,
            timeout=_LONGEST_S,
        )
        if done.rc and all(outcome.status in ("ok", "changed") for outcome in outcomes.values()):
            # It ended before it reached any host.
            printed = done.stdout.read() + done.stderr.read()
            raise BackendUnavailable("hosts", [], f"{playbook}: {_plain(printed)[-_LONGEST:]}")
    return list(outcomes.values())


def _hear_task(outcome: HostOutcome, kind: str, data: dict[str, Any], attempting: str) -> str:
    """Record the outcome of a task on a host; returns it as one word."""
    result = data.get("res") or {}
    if kind == "ok" and result.get("changed"):
        outcome.changed.append(data["task"])
        outcome.status = "changed" if outcome.status == "ok" else outcome.status
        return "changed"
    if kind == "unreachable":
        outcome.status = "unreachable"
        hint = "check its address, its sshd and your key"
        outcome.problem = f"{attempting} {outcome.host}: it cannot be reached: {_plain(result.get('msg', ''))}; {hint}"
    elif kind == "failed" and not data.get("ignore_errors"):
        outcome.status = "failed"
        outcome.problem = f"{attempting} {outcome.host}: {data['task']}: {_why(result)}"
        return "failed"
    return kind


def _why(result: dict[str, Any]) -> str:
    """The reason why a task failed: its own message, or the last output of a failed program."""
    failed = [one for one in result.get("results", []) if isinstance(one, dict) and one.get("failed")]
    if failed:
        result = failed[0]
    output = str(result.get("stderr") or result.get("stdout") or "").strip()
    if "cmd" in result and output:
        command = result["cmd"] if isinstance(result["cmd"], str) else " ".join(result["cmd"])
        return f"`{command}` ended with {result.get('rc')}: {_plain(output)[-_LONGEST:]}"
    return _plain(str(result.get("msg") or result))[-_LONGEST:]


def _plain(text: str) -> str:
    """The text on one line, without colours."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())


def print_task(host: str, task: str, how: str) -> None:
    """Print a line for a task of a host, as it ends."""
    if how != "skipped" and not task.startswith(_VALIDATION):
        print(f"{host:<16} {how:<12} {task}", file=sys.stderr, flush=True)
