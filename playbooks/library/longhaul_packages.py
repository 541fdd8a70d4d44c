#!/usr/bin/python
"""Ansible module: install packages with the host's package manager, and record all new packages, so that they can be removed."""

from __future__ import annotations

import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import Record, Refused, answer, run

DOCUMENTATION = r"""
module: longhaul_packages
short_description: Install packages and record them with their dependencies
description:
  - Supports apt and dnf. Records newly installed packages with their dependencies.
  - Absent removes the recorded packages, except those that other packages need by now.
options:
  names: {description: Packages to install., type: list, elements: str, default: []}
  apt: {description: More packages for hosts with apt., type: list, elements: str, default: []}
  dnf: {description: More packages for hosts with dnf., type: list, elements: str, default: []}
  state: {description: Whether to install or remove them., type: str, choices: [present, absent], default: present}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Install DKMS
  longhaul_packages:
    names: [dkms]
"""
RETURN = r"""
packages: {description: Packages that were installed or removed., type: list, elements: str, returned: always}
kept: {description: Packages that other packages need by now., type: list, elements: str, returned: always}
"""


def installed() -> set[str]:
    """Installed packages: names for apt, names with versions for dnf, which may have several versions of a name."""
    if shutil.which("dpkg-query"):
        listed = answer("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\\n")
        return {words[1] for words in map(str.split, listed.splitlines()) if words[0] == "ii"}
    return set(answer("rpm", "-qa", "--qf", "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\\n").split())


def missing(names: list[str]) -> list[str]:
    """Those that are not installed."""
    there = installed() if shutil.which("dpkg-query") else {name for name in names if answer("rpm", "-q", name)}
    return sorted(set(names) - there)


def install(wanted: list[str], record: Record) -> list[str]:
    """Install packages; the names of all new packages."""
    before = installed()
    for name in wanted:
        record.note("packages", name, None, "installed", lasting=True)
    if shutil.which("apt-get"):
        # One of several sources may be unreachable; missing packages are found below.
        answer("apt-get", "update", "-q")
        quietly = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y")
        run(*quietly, "install", "--no-install-recommends", *wanted)
    elif shutil.which("dnf"):
        run("dnf", "install", "-q", "-y", "--setopt=install_weak_deps=False", *wanted)
    else:
        raise Refused(f"installing {', '.join(wanted)}: this host has neither apt nor dnf; install them by hand")
    came = sorted(installed() - before)
    for name in came:
        record.note("packages", name, None, "installed", lasting=True)
    if still := missing(wanted):
        raise Refused(f"installing {', '.join(still)}: the package manager succeeded, but they are not installed")
    return came


def remove(record: Record) -> tuple[list[str], list[str]]:
    """Remove the recorded packages; returns those removed and those that other packages need."""
    ours = sorted(set(record.changed("packages")) & installed())
    if not ours:
        return [], []
    # dpkg and rpm refuse to remove a package that others need; apt and dnf would remove those too.
    words = ["dpkg", "--purge"] if shutil.which("dpkg") else ["rpm", "-e"]
    try:
        run(*words, *ours)
    except Refused:
        for name in ours:
            answer(*words, name)
    kept = sorted(set(ours) & installed())
    return [name for name in ours if name not in kept], kept


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "default": []},
            "apt": {"type": "list", "elements": "str", "default": []},
            "dnf": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    record = Record()
    kept: list[str] = []
    try:
        if module.params["state"] == "present":
            more = module.params["apt" if shutil.which("apt-get") else "dnf"]
            changed = missing([*module.params["names"], *more])
            if changed and not module.check_mode:
                changed = install(changed, record)
        elif module.check_mode:
            changed = sorted(set(record.changed("packages")) & installed())
        else:
            changed, kept = remove(record)
    except (OSError, Refused) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(changed), packages=changed, kept=kept)


if __name__ == "__main__":
    main()
