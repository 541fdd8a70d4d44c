#!/usr/bin/python
"""Ansible module: set a host's kernel up for long fast paths, record old values, and check each new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import (
    Record,
    Refused,
    read_offloads,
    read_qdiscs,
    read_sysctl,
    run,
    sysctl_file,
)

DOCUMENTATION = r"""
module: longhaul_settings
short_description: Set sysctls, the queue of a network card and its offloads, and check them
description:
  - Old values are recorded in /var/lib/longhaul/before.json before anything is set. Nothing persists over a reboot.
  - A queue configured by the host's administrator is left alone, which is an error.
options:
  sysctls: {description: Name and value., type: dict, default: {}}
  interface: {description: The network card of test traffic., type: str, default: ""}
  qdisc: {description: The card's queue; an empty text leaves it as it is., type: str, choices: ["", fq, fq_codel, pfifo_fast], default: ""}
  offloads: {description: Features named as in ethtool -k, on or off., type: dict, default: {}}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Set buffers and fq
  longhaul_settings:
    sysctls: {net.core.rmem_max: "536870912"}
    interface: eth0
    qdisc: fq
"""
RETURN = r"""
settings: {description: The changed settings with their old values., type: list, elements: str, returned: always}
"""


class Settings:
    """Compares settings with the wanted values and changes them."""

    def __init__(self, record: Record, *, check: bool) -> None:
        self._record = record
        self._check = check
        self.done: list[str] = []

    def sysctl(self, name: str, value: str) -> None:
        found, wanted = read_sysctl(name), " ".join(value.split())
        if found is None:
            raise Refused(f"setting {name}: this kernel has no such setting; leave it out of tuning_sysctls")
        if found == wanted or not self._begin("sysctls", name, found, wanted):
            return
        try:
            sysctl_file(name).write_text(value)
        except OSError as error:
            raise Refused(f"setting {name} to {wanted}: {error.strerror}") from None
        self._read_back(name, wanted, read_sysctl(name))

    def qdisc(self, device: str, kind: str) -> None:
        found = read_qdiscs(device)
        root = [one for one in found if one.get("root")]
        if {one["kind"] for one in found} - {"mq"} == {kind}:
            return
        if any(one["handle"] != "0:" for one in root):
            have = " and ".join(one["kind"] for one in root)
            what = f"setting the queue of {device} to {kind}: {have} is configured there and stays"
            raise Refused(f"{what}; set tuning_qdisc to an empty text for this host, or remove that queue")
        if not self._begin("qdiscs", device, found, kind):
            return
        if any(one["kind"] == "mq" for one in root):
            # One queue for each hardware queue; a single one would be a lock for all processors.
            run("tc", "qdisc", "replace", "dev", device, "root", "handle", "7e0:", "mq")
            for part in [one for one in read_qdiscs(device) if one.get("parent", "").startswith("7e0:")]:
                run("tc", "qdisc", "replace", "dev", device, "parent", part["parent"], kind)
        else:
            run("tc", "qdisc", "replace", "dev", device, "root", kind)
        kinds = {one["kind"] for one in read_qdiscs(device)} - {"mq"}
        self._read_back(f"queue of {device}", kind, " and ".join(sorted(kinds)))

    def offloads(self, device: str, wanted: dict[str, str]) -> None:
        found = read_offloads(device)
        if unknown := sorted(set(wanted) - set(found)):
            raise Refused(
                f"setting offloads of {device}: {', '.join(unknown)} are not among its features; see `ethtool -k {device}`"
            )
        different = {name: value for name, value in wanted.items() if found[name] != value}
        if not different or not self._begin("offloads", device, found, different):
            return
        for name, value in different.items():
            run("ethtool", "-K", device, name, value)
        now = read_offloads(device)
        for name, value in wanted.items():
            self._read_back(f"{name} of {device}", value, now.get(name))

    def _begin(self, kind: str, name: str, found: Any, now: Any) -> bool:
        """Whether to make a change, which is then recorded."""
        self.done.append(f"{name}: {now}")
        if not self._check:
            self._record.note(kind, name, found, now)
        return not self._check

    def _read_back(self, what: str, wanted: str, found: str | None) -> None:
        if found != wanted:
            raise Refused(
                f"setting {what} to {wanted}: the kernel set {found} instead; leave it out, or give a supported value"
            )


def _word(value: Any) -> str:
    # YAML reads on and off as booleans.
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(
        argument_spec={
            "sysctls": {"type": "dict", "default": {}},
            "interface": {"type": "str", "default": ""},
            "qdisc": {"type": "str", "choices": ["", "fq", "fq_codel", "pfifo_fast"], "default": ""},
            "offloads": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    asked, settings = module.params, Settings(Record(), check=module.check_mode)
    device = asked["interface"]
    try:
        for name, value in asked["sysctls"].items():
            settings.sysctl(name, str(value))
        if (asked["qdisc"] or asked["offloads"]) and not (Path("/sys/class/net") / device).exists():
            raise Refused(f"tuning the card of test traffic: this host has no {device or 'interface of that name'}")
        if asked["qdisc"]:
            settings.qdisc(device, asked["qdisc"])
        if asked["offloads"]:
            settings.offloads(device, {name: _word(value) for name, value in asked["offloads"].items()})
    except (OSError, Refused) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(settings.done), settings=settings.done)


if __name__ == "__main__":
    main()
