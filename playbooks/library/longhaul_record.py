#!/usr/bin/python
"""Ansible module: begin the record of what a host was like, note there what is about to be put on it, and make the folders for it."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import BEFORE, Record, Refused

DOCUMENTATION = r"""
module: longhaul_record
short_description: Record what a host was like before anything is changed
description:
  - Writes /var/lib/longhaul/before.json with a snapshot of the host, once.
  - Notes files and folders that are about to be put there, so that longhaul_restore takes away these and no others.
  - A file that is there already and that is not Longhaul's own is never overwritten.
options:
  files: {description: Files that are about to be written., type: list, elements: path, default: []}
  made: {description: Files that a program may make on the way; they go if they are not there yet., type: list, elements: path, default: []}
  folders: {description: Folders to make where they are missing, upper ones first; they go when they are empty., type: list, elements: path, default: []}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Record what the host was like
  longhaul_record:
    files: [/etc/longhaul/limits.json]
"""
RETURN = r"""
file: {description: Where the record is., type: str, returned: always}
made: {description: Folders that were missing., type: list, elements: str, returned: always}
"""


def _missing(paths: list[str], known: Container[str]) -> list[str]:
    return [path for path in paths if path not in known and not Path(path).exists()]


def main() -> None:
    """What Ansible calls."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "path", "default": []},
            "made": {"type": "list", "elements": "path", "default": []},
            "folders": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    record = Record()
    ours = [file for file in module.params["files"] if file not in record.changed("files")]
    for file in ours:
        if Path(file).exists():
            module.fail_json(msg=f"{file} is there already, and no deployment put it there; move it away")
    new = {
        "files": ours + _missing(module.params["made"], record.changed("files")),
        "folders": _missing(module.params["folders"], record.changed("folders")),
    }
    absent = [folder for folder in module.params["folders"] if not Path(folder).exists()]
    changed = not record.exists or any(new.values()) or bool(absent)
    if changed and not module.check_mode:
        try:
            if not record.exists:
                record.begin()
            for kind, names in new.items():
                for name in names:
                    record.note(kind, name, None, "longhaul", lasting=True)
            for folder in module.params["folders"]:
                Path(folder).mkdir(mode=0o755, exist_ok=True)
        except (OSError, Refused) as error:
            module.fail_json(msg=f"recording what this host was like in {BEFORE}: {error}")
    module.exit_json(changed=changed, file=str(BEFORE), made=absent)


if __name__ == "__main__":
    main()
