#!/usr/bin/python
"""Ansible module: record the state of a host and the files that a deployment adds, make their folders, and write the small ones."""

from __future__ import annotations

import json
import os
from collections.abc import Container
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import BEFORE, Record, Refused

DOCUMENTATION = r"""
module: longhaul_record
short_description: Record the state of a host before changing it
description:
  - Writes /var/lib/longhaul/before.json with a snapshot of the host, once.
  - Records the files and folders to be added, so that longhaul_restore removes exactly these.
  - An existing file that is not Longhaul's is never overwritten.
options:
  files: {description: Files to be written., type: list, elements: path, default: []}
  documents: {description: JSON documents that are written now to files among them, by path., type: dict, default: {}}
  made: {description: Files that a program may write; those that do not exist yet are removed later., type: list, elements: path, default: []}
  folders: {description: Folders to make if missing, upper ones first; they are removed when empty., type: list, elements: path, default: []}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Record the state of the host
  longhaul_record:
    files: [/etc/longhaul/limits.json]
"""
RETURN = r"""
file: {description: The path of the record., type: str, returned: always}
made: {description: Folders that were missing., type: list, elements: str, returned: always}
"""


def _missing(paths: list[str], known: Container[str]) -> list[str]:
    return [path for path in paths if path not in known and not Path(path).exists()]


def _text(path: Path) -> str | None:
    """The text of a file; None if there is none or it is not a text."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, text: str) -> None:
    """Write a file that everybody may read; it has its old or its new text, whenever the power fails."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "path", "default": []},
            "documents": {"type": "dict", "default": {}},
            "made": {"type": "list", "elements": "path", "default": []},
            "folders": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    record = Record()
    ours = [file for file in module.params["files"] if file not in record.changed("files")]
    for file in ours:
        if Path(file).exists():
            module.fail_json(msg=f"{file} already exists and is not from a deployment; move it away")
    new = {
        "files": ours + _missing(module.params["made"], record.changed("files")),
        "folders": _missing(module.params["folders"], record.changed("folders")),
    }
    absent = [folder for folder in module.params["folders"] if not Path(folder).exists()]
    texts = {Path(path): json.dumps(one, indent=1) + "\n" for path, one in module.params["documents"].items()}
    texts = {path: text for path, text in texts.items() if _text(path) != text}
    changed = not record.exists or any(new.values()) or bool(absent or texts)
    if changed and not module.check_mode:
        try:
            if not record.exists:
                record.begin()
            for kind, names in new.items():
                for name in names:
                    record.note(kind, name, None, "longhaul", lasting=True)
            for folder in module.params["folders"]:
                Path(folder).mkdir(mode=0o755, exist_ok=True)
            for path, text in texts.items():
                _write(path, text)
        except (OSError, Refused) as error:
            module.fail_json(msg=f"recording the state of this host in {BEFORE}: {error}")
    module.exit_json(changed=changed, file=str(BEFORE), made=absent)


if __name__ == "__main__":
    main()
