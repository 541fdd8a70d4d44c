#!/usr/bin/python
"""Ansible module: whether modules can be built for a host's kernel: headers, a compiler, DKMS and its versions of longhaul."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import Record, answer

DOCUMENTATION = r"""
module: longhaul_kernel
short_description: Find out how a kernel can get modules
description:
  - Changes nothing.
options: {}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Find out how this kernel can get modules
  longhaul_kernel:
"""
RETURN = r"""
release: {description: The running kernel., type: str, returned: always}
headers: {description: The kernel of the headers in its build folder; empty without headers., type: str, returned: always}
tools: {description: Whether a compiler, make and DKMS are installed., type: bool, returned: always}
dkms: {description: The status of longhaul in DKMS for this kernel., type: str, returned: always}
registered: {description: Versions of longhaul that a deployment added to DKMS., type: list, elements: str, returned: always}
foreign: {description: Versions from elsewhere., type: list, elements: str, returned: always}
"""
_SOURCES = "/usr/src/longhaul-"


def headers_release(release: str) -> str:
    """The kernel of the headers with which a module for this kernel would be compiled."""
    build = Path("/lib/modules") / release / "build"
    for file, pattern in (
        ("include/generated/utsrelease.h", r'UTS_RELEASE "([^"]+)"'),
        ("include/config/kernel.release", r"(\S+)"),
    ):
        try:
            if match := re.search(pattern, (build / file).read_text()):
                return match[1]
        except OSError:
            continue
    return ""


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    release = os.uname().release
    status = answer("dkms", "status", "longhaul")
    # "longhaul/0.1.0, 6.1.0-13-amd64, x86_64: installed"; older ones say "longhaul, 0.1.0, ...".
    mine = re.search(rf"^longhaul[/,] ?[^,:]+, {re.escape(release)}, [^:]+: (\w+)", status, re.MULTILINE)
    known = set(re.findall(r"^longhaul[/,] ?([^,: ]+)", status, re.MULTILINE))
    ours = {file.removeprefix(_SOURCES) for file in Record().changed("files") if file.startswith(_SOURCES)}
    module.exit_json(
        changed=False,
        release=release,
        headers=headers_release(release),
        tools=all(shutil.which(tool) for tool in ("gcc", "make", "dkms")),
        dkms=mine[1] if mine else "",
        registered=sorted(known & ours),
        foreign=sorted(known - ours),
    )


if __name__ == "__main__":
    main()
