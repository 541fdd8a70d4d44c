#!/usr/bin/python
"""Ansible module: load kernel modules, and read back that the kernel has them and that they are those on the disk."""

from __future__ import annotations

import lzma
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import Record, Refused, answer, loaded_modules, read_sysctl, run

DOCUMENTATION = r"""
module: longhaul_modules
short_description: Load kernel modules and read them back
description:
  - A module that is loaded already but is another one than that on the disk is taken out and loaded anew, if nobody uses it.
  - Nothing lasts over a reboot.
options:
  names: {description: Modules without their endings., type: list, elements: str, required: true}
  brought: {description: Whether files of modules have just come., type: bool, default: false}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Load a congestion control
  longhaul_modules:
    names: [tcp_apptcp]
"""
RETURN = r"""
loaded: {description: What was loaded by this task., type: list, elements: str, returned: always}
"""

_HINTS = {
    "Key was rejected": "it is not signed with a key that this machine knows: see `Secure Boot` in docs/hosts.md",
    "Required key not available": "it is not signed with a key that this machine knows: see `Secure Boot` in docs/hosts.md",
    "Operation not permitted": "loading modules is locked on this machine: see kernel.modules_disabled, or a lock-down by Secure Boot",
    "Exec format error": "it was built for another kernel: deploy again with the headers of the one that runs",
    "not found": "deploy its file first",
}


def _note(name: str) -> bytes:
    """By which a kernel's build is known; none where kernels are built without."""
    try:
        return (Path("/sys/module") / name / "notes" / ".note.gnu.build-id").read_bytes()
    except OSError:
        return b""


def is_stale(name: str) -> bool:
    """Whether the kernel has another build of a module than the disk has."""
    file, note = Path(answer("modinfo", "-n", name).strip()), _note(name)
    if not note or file.suffix not in (".ko", ".xz"):
        return False
    image = file.read_bytes()
    return note not in (lzma.decompress(image) if file.suffix == ".xz" else image)


def _users(name: str) -> int:
    return int((Path("/sys/module") / name / "refcnt").read_text())


def load(name: str) -> None:
    """Load a module; Refused with what modprobe and the kernel say."""
    try:
        run("modprobe", name)
    except Refused as error:
        said = str(error)
        why = [line for line in answer("dmesg").splitlines() if f"{name}:" in line][-1:]
        hint = next((hint for word, hint in _HINTS.items() if word in said), "its kernel's log may say more")
        about = f" (the kernel: {why[0].split('] ', 1)[-1]})" if why else ""
        raise Refused(f"loading module {name}: {said}{about}; {hint}") from None
    read_back(name)


def read_back(name: str) -> None:
    """Ask the kernel whether it has a module, and what that is for."""
    if name not in loaded_modules():
        raise Refused(f"loading module {name}: modprobe was content, and the kernel does not have it")
    control = name.removeprefix("tcp_")
    if control != name and control not in (read_sysctl("net.ipv4.tcp_available_congestion_control") or "").split():
        raise Refused(f"loading module {name}: it is loaded, and the kernel knows no congestion control {control}")


def main() -> None:
    """What Ansible calls."""
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
                what = f"{_users(name)} sockets use the one that is loaded"
                raise Refused(f"loading module {name} anew: {what}; wait until they are closed, and deploy again")
            record.note("modules", name, there, True)
            if there:
                run("rmmod", name)
            load(name)
    except (OSError, Refused) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(done), loaded=done)


if __name__ == "__main__":
    main()
