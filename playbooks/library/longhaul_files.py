#!/usr/bin/python
"""Ansible module: record the files that a deployment adds, make their folders, and write them, in one start of Python on the host."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Container
from pathlib import Path
from typing import IO

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.longhaul_host import BEFORE, Record, Refused

DOCUMENTATION = r"""
module: longhaul_files
short_description: Record and install files
description:
  - The action longhaul_install copies archive and program to the host first, and calls it.
  - Records the files and folders to be added, so that longhaul_restore removes exactly these.
  - An existing file that is not Longhaul's is never overwritten.
  - The files come from one archive and one program of the controller, and as JSON documents. A file that is the same already stays.
options:
  files: {description: "Files to be written, or folders of them.", type: list, elements: path, default: []}
  made: {description: Files that a program may write; those that do not exist yet are removed later., type: list, elements: path, default: []}
  folders: {description: Folders to make if missing, upper ones first; they are removed when empty., type: list, elements: path, default: []}
  documents: {description: JSON documents among the files, by path., type: dict, default: {}}
  archive: {description: An archive of files for archive_to., type: path}
  archive_to: {description: The folder that it is unpacked in., type: path}
  program: {description: A program for program_to., type: path}
  program_to: {description: The path of the program., type: path}
author: [Longhaul]
"""
EXAMPLES = r"""
- name: Install the agent
  longhaul_files:
    files: [/usr/local/libexec/longhaul/agent]
    folders: [/usr/local/libexec, /usr/local/libexec/longhaul]
    program: build/longhaul-agent
    program_to: /usr/local/libexec/longhaul/agent
"""
RETURN = r"""
written: {description: The files that differed or were missing., type: list, elements: str, returned: always}
"""


def _missing(paths: list[str], known: Container[str]) -> list[str]:
    return [path for path in paths if path not in known and not Path(path).exists()]


def is_same(path: Path, content: bytes, mode: int) -> bool:
    """Whether a file has this content and mode, and belongs to root as everything that a deployment adds."""
    try:
        about = path.lstat()
        return (about.st_mode & 0o7777, about.st_uid, about.st_gid) == (mode, 0, 0) and path.read_bytes() == content
    except OSError:
        return False


def write(path: Path, content: bytes, mode: int) -> None:
    """Write a file; programs and readers see its old or its new content. The playbook syncs the disk once for all files."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        os.fchown(file.fileno(), 0, 0)
        os.fchmod(file.fileno(), mode)
        file.write(content)
        if path.suffix == ".json":
            # Limits that a power cut left half written would stop every run.
            file.flush()
            os.fsync(file.fileno())
    new.replace(path)


class Files:
    """The files to install, by path: content and mode."""

    def __init__(self) -> None:
        self._wanted: dict[Path, tuple[bytes, int]] = {}

    def add_documents(self, documents: dict[str, object]) -> None:
        """JSON documents, which everybody may read."""
        for path, one in documents.items():
            self._wanted[Path(path)] = ((json.dumps(one, indent=1) + "\n").encode(), 0o644)

    def add_program(self, program: Path, path: Path) -> None:
        """A program that everybody may run."""
        self._wanted[path] = (program.read_bytes(), 0o755)

    def add_archive(self, archive: Path, folder: Path) -> None:
        """The files of an archive, each below this folder."""
        with tarfile.open(archive) as tar:
            for member in tar:
                path = folder / member.name
                if ".." in path.parts or not path.is_relative_to(folder):
                    raise Refused(f"unpacking {archive.name}: {member.name} is not below {folder}")
                content: IO[bytes] | None = tar.extractfile(member) if member.isfile() else None
                if content is None:
                    raise Refused(f"unpacking {archive.name}: {member.name} is not a file")
                self._wanted[path] = (content.read(), member.mode)

    def differing(self) -> list[Path]:
        """Those that the host does not have like this."""
        return [path for path, (content, mode) in self._wanted.items() if not is_same(path, content, mode)]

    def write(self, paths: list[Path]) -> None:
        for path in paths:
            path.parent.mkdir(mode=0o755, exist_ok=True)
            write(path, *self._wanted[path])


def main() -> None:
    """The entry point for Ansible."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "path", "default": []},
            "made": {"type": "list", "elements": "path", "default": []},
            "folders": {"type": "list", "elements": "path", "default": []},
            "documents": {"type": "dict", "default": {}},
            "archive": {"type": "path"},
            "archive_to": {"type": "path"},
            "program": {"type": "path"},
            "program_to": {"type": "path"},
        },
        required_together=[("archive", "archive_to"), ("program", "program_to")],
        supports_check_mode=True,
    )
    asked, record, files = module.params, Record(), Files()
    ours = [file for file in asked["files"] if file not in record.changed("files")]
    for file in ours:
        if Path(file).exists():
            module.fail_json(msg=f"{file} already exists and is not from a deployment; move it away")
    new = {
        "files": ours + _missing(asked["made"], record.changed("files")),
        "folders": _missing(asked["folders"], record.changed("folders")),
    }
    try:
        files.add_documents(asked["documents"])
        if asked["program"]:
            files.add_program(Path(asked["program"]), Path(asked["program_to"]))
        if asked["archive"]:
            files.add_archive(Path(asked["archive"]), Path(asked["archive_to"]))
        differing = files.differing()
    except (OSError, tarfile.TarError, Refused) as error:
        module.fail_json(msg=f"reading the files to install: {error}")
    absent = [folder for folder in asked["folders"] if not Path(folder).exists()]
    changed = any(new.values()) or bool(absent or differing)
    if changed and not module.check_mode:
        try:
            for kind, names in new.items():
                for name in names:
                    record.note(kind, name, None, "longhaul", lasting=True)
            for folder in asked["folders"]:
                Path(folder).mkdir(mode=0o755, exist_ok=True)
            files.write(differing)
        except (OSError, Refused) as error:
            module.fail_json(msg=f"installing files that are recorded in {BEFORE}: {error}")
    module.exit_json(changed=changed, written=[str(path) for path in differing])


if __name__ == "__main__":
    main()
