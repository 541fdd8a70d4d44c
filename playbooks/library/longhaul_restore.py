#!/usr/bin/python
"""Ansible module: restore a host to its recorded state. longhaul_packages restores packages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import (
    Record,
    Refused,
    answer,
    boot_id,
    loaded_modules,
    read_offloads,
    read_qdiscs,
    read_sysctl,
    run,
    sysctl_file,
)

DOCUMENTATION = r"""
module: longhaul_restore
short_description: Restore a host to its original state
description:
  - Restores kernel settings that still are as Longhaul set them; later changes stay and are reported.
  - Unloads and removes Longhaul's modules, and removes its files.
options:
  parts:
    description: The parts to restore, in this order; the record comes last.
    type: list
    elements: str
    choices: [settings, files, record]
    required: true
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Restore the kernel's settings
  longhaul_restore:
    parts: [settings]
"""
RETURN = r"""
done: {description: What was restored., type: list, elements: str, returned: always}
packages: {description: Whether a deployment installed packages., type: bool, returned: always}
sources: {description: Whether a deployment brought sources for DKMS., type: bool, returned: always}
kept: {description: Later changes from elsewhere, which stay., type: list, elements: str, returned: always}
"""


class Restoring:
    """Restores one part; in check mode only reports."""

    def __init__(self, record: Record, *, check: bool) -> None:
        self._record = record
        self._check = check
        self.done: list[str] = []
        self.kept: list[str] = []

    def settings(self) -> None:
        for name, entry in self._of_this_boot("sysctls"):
            if self._is_ours(name, read_sysctl(name), entry) and self._goes(f"{name}: {entry['found']}"):
                sysctl_file(name).write_text(entry["found"])
                _read_back(name, entry["found"], read_sysctl(name))
        for device, entry in self._of_this_boot("qdiscs"):
            found = read_qdiscs(device)
            kinds = " and ".join(sorted({one["kind"] for one in found} - {"mq"}))
            # The original queues are compared in full, with handles; Longhaul's only by kind.
            now = found if found == entry["found"] else kinds
            if self._is_ours(f"queue of {device}", now, entry) and self._goes(f"queue of {device}"):
                run("tc", "qdisc", "delete", "dev", device, "root")
                _read_back(f"queue of {device}", entry["found"], read_qdiscs(device))
        for device, entry in self._of_this_boot("offloads"):
            now = read_offloads(device)
            for name, value in entry["now"].items():
                ours = {"found": entry["found"][name], "now": value}
                what = f"{name} of {device}"
                if self._is_ours(what, now.get(name), ours) and self._goes(f"{what}: {ours['found']}"):
                    run("ethtool", "-K", device, name, ours["found"])
            if not self._check:
                now = read_offloads(device)
                for name in entry["now"]:
                    _read_back(f"{name} of {device}", entry["found"][name], now.get(name))
        for name, entry in self._of_this_boot("modules"):
            if name in loaded_modules() and not entry["found"] and self._goes(f"module {name}"):
                run("rmmod", name)

    def files(self) -> None:
        for name in sorted(self._record.changed("files"), reverse=True):
            path = Path(name)
            if (path.exists() or path.is_symlink()) and self._goes(name):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for folder in sorted(self._record.changed("folders"), reverse=True):
            if Path(folder).is_dir() and not any(Path(folder).iterdir()) and self._goes(folder):
                Path(folder).rmdir()
        if self.done and not self._check:
            answer("depmod")

    def record(self) -> None:
        for path in (self._record.new, self._record.file):
            if path.exists() and self._goes(str(path)):
                path.unlink()
        folder = self._record.file.parent
        if folder.is_dir() and not any(folder.iterdir()) and self._goes(str(folder)):
            folder.rmdir()

    def _of_this_boot(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        # The latest change first; changes of an earlier boot are gone.
        entries = list(self._record.changed(kind).items())[::-1]
        return [(name, entry) for name, entry in entries if entry["boot"] == boot_id()]

    def _is_ours(self, what: str, now: object, entry: dict[str, Any]) -> bool:
        if now == entry["found"]:
            return False
        if now != entry["now"]:
            self.kept.append(f"{what} is {now}, which is not Longhaul's")
            return False
        return True

    def _goes(self, what: str) -> bool:
        self.done.append(what)
        return not self._check


def _read_back(what: str, wanted: Any, found: Any) -> None:
    if found != wanted:
        raise Refused(f"restoring {what}: it was {wanted}, but the kernel now has {found}; set it by hand")


def has_sources(record: Record) -> bool:
    """Whether a deployment brought sources, of which DKMS may have made modules."""
    return any(file.startswith("/usr/src/") for file in record.changed("files"))


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(
        argument_spec={
            "parts": {"type": "list", "elements": "str", "choices": ["settings", "files", "record"], "required": True}
        },
        supports_check_mode=True,
    )
    record = Record()
    packages, sources = bool(record.changed("packages")), has_sources(record)
    restoring = Restoring(record, check=module.check_mode)
    try:
        for part in module.params["parts"]:
            getattr(restoring, part)()
    except (OSError, Refused) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=bool(restoring.done), done=restoring.done, kept=restoring.kept, packages=packages, sources=sources
    )


if __name__ == "__main__":
    main()
