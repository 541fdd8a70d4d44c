"""The state of a host, and the record of its state before Longhaul changed anything. Standard library only, since it is copied to hosts.

/var/lib/longhaul/before.json     written before the first change, added to before each further one, read by restore.yml

python3 longhaul_host.py          prints the state of this host as JSON; before a deployment and after a restore it is the same
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

BEFORE = Path("/var/lib/longhaul/before.json")
FORMAT = 1

# Folders of Longhaul's files, and of the host's configuration.
_FOLDERS = (
    "/etc/longhaul", "/etc/sysctl.d", "/etc/modules-load.d", "/etc/modprobe.d", "/etc/systemd/system", "/etc/sudoers.d",
    "/usr/local/bin", "/usr/local/sbin", "/usr/local/etc", "/usr/local/libexec",
    "/var/lib/longhaul", "/run/longhaul",
)  # fmt: skip
# Folders of units besides /etc; which of them are enabled or masked are links in /etc and /run. `systemctl list-unit-files` takes
# up to half a minute on a busy host, and then its bus gives up.
_UNITS = ("/lib/systemd/system", "/usr/local/lib/systemd/system", "/run/systemd/system", "/run/systemd/generator")
_SYSCTLS = ("net/core", "net/ipv4")
# They change at every read, or are counters.
_FICKLE = {"net.ipv4.tcp_fastopen_key"}


class Refused(Exception):
    """A host rejected a change; one sentence."""


def run(*words: str) -> str:
    """The standard output of a program; Refused with its message if it fails."""
    try:
        done = subprocess.run(list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Refused(f"`{' '.join(words)}`: {error.strerror}") from None
    if done.returncode:
        output = (done.stderr or done.stdout).strip().splitlines()
        raise Refused(f"`{' '.join(words)}`: {output[-1] if output else f'it ended with {done.returncode}'}")
    return done.stdout


def answer(*words: str) -> str:
    """The same, with empty output if the program fails."""
    try:
        return run(*words)
    except Refused:
        return ""


def listing(*words: str) -> str:
    """The same, with empty output only if this host does not have the program: a listing that failed is not an empty one."""
    return run(*words) if shutil.which(words[0]) else ""


def sysctl_file(name: str) -> Path:
    """The file of a kernel setting."""
    return Path("/proc/sys") / name.replace(".", "/")


def read_sysctl(name: str) -> str | None:
    """Its value with single spaces; None if this kernel does not have it."""
    try:
        return " ".join(sysctl_file(name).read_text().split())
    except OSError:
        return None


def read_offloads(device: str) -> dict[str, str]:
    """Feature -> on or off, from `ethtool -k`; empty without ethtool."""
    return dict(re.findall(r"^\s*([a-z0-9-]+): (on|off)", answer("ethtool", "-k", device), re.MULTILINE))


def read_qdiscs(device: str = "") -> list[dict[str, Any]]:
    """The queues from `tc -j` without counters; the kernel's defaults have the handle 0."""
    show = ("tc", "-j", "qdisc", "show")
    # A card that is gone has none.
    listed = answer(*show, "dev", device) if device else listing(*show)
    return [{key: one[key] for key in sorted(one) if key != "refcnt"} for one in json.loads(listed or "[]")]


def loaded_modules() -> list[str]:
    """The names of the loaded modules."""
    return sorted(line.split()[0] for line in Path("/proc/modules").read_text().splitlines())


def boot_id() -> str:
    """The id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def snapshot() -> dict[str, Any]:
    """The state of this host: everything that a deployment could leave behind."""
    devices = sorted(path.name for path in Path("/sys/class/net").iterdir())
    release = os.uname().release
    return {
        "kernel": release,
        "sysctls": _sysctls(),
        "qdiscs": read_qdiscs(),
        "offloads": {device: read_offloads(device) for device in devices},
        "modules": loaded_modules(),
        "files": _files((*_FOLDERS, f"/lib/modules/{release}/updates", f"/lib/modules/{release}/extra")),
        "sources": sorted(
            str(path) for place in ("/usr/src", "/var/lib/dkms") for path in Path(place).glob("longhaul*")
        ),
        "known_modules": _digest(Path(f"/lib/modules/{release}/modules.dep")),
        "packages": _packages(),
        "units": _files(_UNITS),
        "users": {file: _digest(Path(file)) for file in ("/etc/passwd", "/etc/group")},
        "listening": _listening(),
        "programs": _programs(),
    }


def _sysctls() -> dict[str, str]:
    found = {}
    for place in _SYSCTLS:
        for file in sorted((Path("/proc/sys") / place).glob("*")):
            name = f"{place}/{file.name}".replace("/", ".")
            if file.is_file() and name not in _FICKLE and (value := read_sysctl(name)) is not None:
                found[name] = value
    return found


def _files(folders: tuple[str, ...]) -> dict[str, str]:
    return {
        str(path): (f"-> {os.readlink(path)}" if path.is_symlink() else _digest(path))
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _packages() -> list[str]:
    debian = listing("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\\n")
    return sorted((debian or listing("rpm", "-qa")).splitlines())


def _listening() -> list[str]:
    found = set()
    for table, listens in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = row.split()[1], row.split()[3]
            if state == listens:
                found.add(f"{table} {local.split(':')[0]} {int(local.split(':')[1], 16)}")
    return sorted(found)


def _programs() -> list[str]:
    """Processes of Longhaul's program, as command lines."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if "/longhaul/" in os.readlink(process / "exe"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
        except OSError:
            continue
    return sorted(found)


class Record:
    """before.json. An entry is on the disk before its change is made."""

    def __init__(self, file: Path = BEFORE) -> None:
        self.file = file
        self.new = file.with_suffix(".new")
        self.data: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    @property
    def exists(self) -> bool:
        return bool(self.data)

    def _begin(self) -> None:
        """Record the state of the host for the first time."""
        try:
            self.data = {"format": FORMAT, "boot": boot_id(), "found": snapshot(), "changed": {}}
            self._save()
        except (OSError, Refused) as error:
            self.data = {}
            raise Refused(f"recording the state of this host in {self.file}, so nothing is changed: {error}") from None

    def changed(self, kind: str) -> dict[str, Any]:
        """The changes of a kind: name -> the original and the new value."""
        found: dict[str, Any] = self.data.get("changed", {}).get(kind, {})
        return found

    def note(self, kind: str, name: str, found: Any, now: Any, *, lasting: bool = False) -> None:
        """Record a change before it is made, and before the first one the state of the host.

        The first original value stays, unless it is not `lasting` and the host has rebooted.
        """
        if not self.exists:
            self._begin()
        of_kind = self.data["changed"].setdefault(kind, {})
        entry = of_kind.get(name)
        if entry is None or (entry["boot"] != boot_id() and not lasting):
            of_kind[name] = {"found": found, "now": now, "boot": boot_id()}
        else:
            # Among several named items, those that this change leaves alone were changed before.
            entry["now"] = entry["now"] | now if isinstance(now, dict) else now
        self._save()

    def _save(self) -> None:
        self.file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with os.fdopen(os.open(self.new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(self.data, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        self.new.replace(self.file)
        # The new name too must survive a power cut.
        folder = os.open(self.file.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


if __name__ == "__main__":
    print(json.dumps(snapshot(), indent=1, sort_keys=True))
