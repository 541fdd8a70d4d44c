"""Sources of a module of one's own on their way to a lab: a folder becomes texts under the hash of their content, and a folder again.

    ./mymodule/*.c *.h  --read-->  hash, {name: text}  --HTTP-->  --admit-->  $LONGHAUL_CACHE/own/<hash>/     named "sha256:<hash>"

What arrives is held to its hash, to names that lead nowhere else, and to what user_modules.py asks of any module. Objects do not travel:
a lab builds what it runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from longhaul.orchestrator.spec.user_modules import (
    adopt,
    clashing,
    content_files,
    content_hash,
    is_plain_name,
    own_controls,
)
from longhaul.orchestrator.system.errors import Conflict, PlanError


def read_sources(path: Path) -> tuple[str, dict[str, str]]:
    """The hash and the texts of a module's folder; PlanError where it is none that can be sent."""
    try:
        files = content_files(path)
        own_controls(path)
        if path.suffix == ".ko":
            raise ValueError("a folder with the source: objects are not sent")
        return content_hash(files), {file.name: file.read_bytes().decode() for file in files}
    except UnicodeDecodeError:
        raise PlanError("sending module", str(path), "its sources are not UTF-8 text", "convert them") from None
    except ValueError as error:
        raise PlanError("sending module", str(path), f"needed: {error}") from None


def admit_sources(files: Mapping[str, str], source: str, cache: Path) -> None:
    """Keep what was sent under that hash, if it is what it is said to be; PlanError, Conflict."""
    attempting = "taking in module", source
    if wrong := next((name for name in files if not (is_plain_name(name) and name.endswith((".c", ".h")))), None):
        allowed = "names of letters, digits and _ . - that end in .c or .h, up to 64 of them"
        raise PlanError(*attempting, f"{wrong[:80]!r} is no name of a source", f"allowed: {allowed}")
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        place = Path(folder)
        for name, text in files.items():
            (place / name).write_bytes(text.encode())
        try:
            found = content_hash(content_files(place))
            if found != source:
                raise Conflict(*attempting, f"its content has the hash {found}", "send what the hash was made of")
            needed = clashing(own_controls(place))
        except ValueError as error:
            needed = str(error)
        if needed:
            raise PlanError(*attempting, f"needed: {needed}")
        adopt([place], cache)
