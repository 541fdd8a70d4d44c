#!/usr/bin/python
"""Ansible module: load kernel modules, and check that the kernel has them and that they are those on the disk."""

from __future__ import annotations

import lzma
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import Record, Refused, answer, loaded_modules, read_sysctl, run

DOCUMENTATION = r"""
module: longhaul_modules
short_description: Load kernel modules and check them
description:
  - A loaded module that differs from the one on the disk is unloaded and loaded again, if it is not in use.
  - Nothing persists over a reboot.
options:
  names: {description: Names of modules without the suffix .ko., type: list, elements: str, required: true}
  brought: {description: Whether module files have just been installed., type: bool, default: false}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Load a congestion control
  longhaul_modules:
    names: [tcp_apptcp]
"""
RETURN = r"""
loaded: {description: Modules that this task loaded., type: list, elements: str, returned: always}
"""

_HINTS = {
    "Key was rejected": "it is not signed with a key that this machine trusts; see `Secure Boot` in docs/hosts.md",
    "Required key not available": "it is not signed with a key that this machine trusts; see `Secure Boot` in docs/hosts.md",
    "Operation not permitted": "loading modules is locked on this machine; see kernel.modules_disabled, or the lockdown of Secure Boot",
    "Exec format error": "it was built for another kernel; deploy again with the headers of the running kernel",
    "not found": "deploy its file first",
}


def _note(name: str) -> bytes:
    """The build id of a module; empty for kernels built without ids."""
    try:
        return (Path("/sys/module") / name / "notes" / ".note.gnu.build-id").read_bytes()
    except OSError:
        return b""


def is_stale(name: str) -> bool:
    """Whether the kernel's build of a module differs from the one on the disk."""
    file, note = Path(answer("modinfo", "-n", name).strip()), _note(name)
    if not note or file.suffix not in (".ko", ".xz"):
        return False
    image = file.read_bytes()
    return note not in (lzma.decompress(image) if file.suffix == ".xz" else image)


def _users(name: str) -> int:
    return int((Path("/sys/module") / name / "refcnt").read_text())


def load(name: str) -> None:
    """Load a module; Refused with the messages of modprobe and the kernel."""
    try:
        run("modprobe", name)
    except Refused as error:
        message = str(error)
        why = [line for line in answer("dmesg").splitlines() if f"{name}:" in line][-1:]
        hint = next((hint for word, hint in _HINTS.items() if word in message), "see the kernel's log")
        about = f" (the kernel: {why[0].split('] ', 1)[-1]})" if why else ""
        raise Refused(f"loading module {name}: {message}{about}; {hint}") from None
    read_back(name)


def read_back(name: str) -> None:
    """Check that the kernel has a module and its congestion control."""
    if name not in loaded_modules():
        raise Refused(f"loading module {name}: modprobe succeeded, but the kernel does not have it")
    control = name.removeprefix("tcp_")
    if control != name and control not in (read_sysctl("net.ipv4.tcp_available_congestion_control") or "").split():
        raise Refused(f"loading module {name}: it is loaded, but the kernel has no congestion control {control}")


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "brought": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    record, done = Record(), []
    try:
        if module.params["brought"] and not module.check_mode:
            run("depmod")
        for name in module.params["names"]:
            there = name in loaded_modules()
            if there and not is_stale(name):
                read_back(name)
                continue
            done.append(name)
            if module.check_mode:
                continue
            if there and _users(name):
                what = f"{_users(name)} sockets use the loaded one"
                raise Refused(f"reloading module {name}: {what}; wait until they are closed, and deploy again")
            record.note("modules", name, there, True)
            if there:
                run("rmmod", name)
            load(name)
    except (OSError, Refused) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(done), loaded=done)


if __name__ == "__main__":
    main()
