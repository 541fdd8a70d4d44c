"""What a host is like, and the record of what it was like before Longhaul changed anything. Standard library alone: it travels to hosts.

/var/lib/longhaul/before.json     written before the first change, added to before each further one, read by restore.yml

python3 longhaul_host.py          prints how this host looks now, as JSON; before and after, it is to be the same
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

BEFORE = Path("/var/lib/longhaul/before.json")
FORMAT = 1

# Where Longhaul puts files, and where whoever configures a host does.
_FOLDERS = (
    "/etc/longhaul", "/etc/sysctl.d", "/etc/modules-load.d", "/etc/modprobe.d", "/etc/systemd/system", "/etc/sudoers.d",
    "/usr/local/bin", "/usr/local/sbin", "/usr/local/etc", "/usr/local/libexec",
    "/var/lib/longhaul", "/run/longhaul",
)  # fmt: skip
_SYSCTLS = ("net/core", "net/ipv4")
# They say something new each time they are read, or are counts.
_FICKLE = {"net.ipv4.tcp_fastopen_key"}


class Refused(Exception):
    """A host did not take what it was given; one sentence."""


def run(*words: str) -> str:
    """What a program says on its standard output; Refused in its own words where it does not end well."""
    try:
        done = subprocess.run(list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Refused(f"`{' '.join(words)}`: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Refused(f"`{' '.join(words)}`: {said[-1] if said else f'it ended with {done.returncode}'}")
    return done.stdout


def answer(*words: str) -> str:
    """The same where silence is an answer."""
    try:
        return run(*words)
    except Refused:
        return ""


def sysctl_file(name: str) -> Path:
    """Where a kernel has a setting."""
    return Path("/proc/sys") / name.replace(".", "/")


def read_sysctl(name: str) -> str | None:
    """Its value with single blanks; None where this kernel has none of that name."""
    try:
        return " ".join(sysctl_file(name).read_text().split())
    except OSError:
        return None


def read_offloads(device: str) -> dict[str, str]:
    """Feature -> on or off, as `ethtool -k` has them; without ethtool none are known."""
    return dict(re.findall(r"^\s*([a-z0-9-]+): (on|off)", answer("ethtool", "-k", device), re.MULTILINE))


def read_qdiscs(device: str = "") -> list[dict[str, Any]]:
    """As `tc -j` has them, without what counts; the kernel's own have the handle 0."""
    listed = answer("tc", "-j", "qdisc", "show", *(("dev", device) if device else ()))
    return [{key: one[key] for key in sorted(one) if key != "refcnt"} for one in json.loads(listed or "[]")]


def loaded_modules() -> list[str]:
    """The names of the modules that the kernel has."""
    return sorted(line.split()[0] for line in Path("/proc/modules").read_text().splitlines())


def boot_id() -> str:
    """What tells this boot from others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def snapshot() -> dict[str, Any]:
    """How this host looks: all that a deployment could leave behind."""
    devices = sorted(path.name for path in Path("/sys/class/net").iterdir())
    release = os.uname().release
    return {
        "kernel": release,
        "sysctls": _sysctls(),
        "qdiscs": read_qdiscs(),
        "offloads": {device: read_offloads(device) for device in devices},
        "modules": loaded_modules(),
        "files": _files([*_FOLDERS, f"/lib/modules/{release}/updates", f"/lib/modules/{release}/extra"]),
        "sources": sorted(
            str(path) for place in ("/usr/src", "/var/lib/dkms") for path in Path(place).glob("longhaul*")
        ),
        "known_modules": _digest(Path(f"/lib/modules/{release}/modules.dep")),
        "packages": _packages(),
        "units": sorted(answer("systemctl", "list-unit-files", "--no-legend", "--no-pager").splitlines()),
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


def _files(folders: list[str]) -> dict[str, str]:
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
    debian = answer("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\\n")
    return sorted((debian or answer("rpm", "-qa")).splitlines())


def _listening() -> list[str]:
    found = set()
    for table, listens in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = row.split()[1], row.split()[3]
            if state == listens:
                found.add(f"{table} {local.split(':')[0]} {int(local.split(':')[1], 16)}")
    return sorted(found)


def _programs() -> list[str]:
    """Processes of Longhaul's own program, each by its words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if "/longhaul/" in os.readlink(process / "exe"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
        except OSError:
            continue
    return sorted(found)


class Record:
    """before.json. What is noted is on the disk before the change that it speaks of is made."""

    def __init__(self, file: Path = BEFORE) -> None:
        self.file = file
        self.new = file.with_suffix(".new")
        self.data: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    @property
    def exists(self) -> bool:
        return bool(self.data)

    def begin(self) -> None:
        """Write down the host as it is, for the first time."""
        self.data = {"format": FORMAT, "boot": boot_id(), "found": snapshot(), "changed": {}}
        self._save()

    def changed(self, kind: str) -> dict[str, Any]:
        """What of this kind was changed: name -> what was found, and what is there in its place."""
        found: dict[str, Any] = self.data.get("changed", {}).get(kind, {})
        return found

    def note(self, kind: str, name: str, found: Any, now: Any, *, lasting: bool = False) -> None:
        """What is about to be changed. What was found first stays; but what does not last over a boot is found anew after one."""
        if not self.exists:
            raise Refused(
                f"{self.file} is missing, so nothing may be changed: the role `record` comes before the others"
            )
        of_kind = self.data["changed"].setdefault(kind, {})
        entry = of_kind.get(name)
        if entry is None or (entry["boot"] != boot_id() and not lasting):
            of_kind[name] = {"found": found, "now": now, "boot": boot_id()}
        else:
            # Of several things by name, what this change leaves as it is was changed before.
            entry["now"] = entry["now"] | now if isinstance(now, dict) else now
        self._save()

    def _save(self) -> None:
        self.file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with os.fdopen(os.open(self.new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(self.data, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        self.new.replace(self.file)
        # The new name too is to outlive a power cut.
        folder = os.open(self.file.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


if __name__ == "__main__":
    print(json.dumps(snapshot(), indent=1, sort_keys=True))
