"""Upload of a user-supplied module: a folder becomes texts under the hash of their content, and a folder again.

    ./mymodule/*.c *.h  --read-->  hash, {name: text}  --HTTP-->  --admit-->  $LONGHAUL_CACHE/own/<hash>/     named "sha256:<hash>"

An upload must match its hash, its file names must be plain, and it must meet the rules of user_modules.py. Objects are not uploaded:
a lab builds what it runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from longhaul.orchestrator.spec.user_modules import (
    adopt,
    content_files,
    content_hash,
    is_plain_name,
    own_controls,
)
from longhaul.orchestrator.system.errors import Conflict, PlanError


def read_sources(path: Path) -> tuple[str, dict[str, str]]:
    """The hash and the texts of a module's folder; PlanError if it cannot be uploaded."""
    try:
        files = content_files(path)
        own_controls(path)
        if path.suffix == ".ko":
            raise ValueError("a folder with the source: objects are not uploaded")
        return content_hash(files), {file.name: file.read_bytes().decode() for file in files}
    except UnicodeDecodeError:
        raise PlanError("uploading module", str(path), "its sources are not UTF-8 text", "convert them") from None
    except ValueError as error:
        raise PlanError("uploading module", str(path), f"needed: {error}") from None


def admit_sources(files: Mapping[str, str], source: str, cache: Path) -> None:
    """Keep an upload under its hash, if they match; PlanError, Conflict."""
    attempting = "receiving module", source
    if wrong := next((name for name in files if not (is_plain_name(name) and name.endswith((".c", ".h")))), None):
        allowed = "names of letters, digits and _ . - that end in .c or .h, up to 64 of them"
        raise PlanError(*attempting, f"{wrong[:80]!r} is not the name of a source", f"allowed: {allowed}")
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        place = Path(folder)
        for name, text in files.items():
            (place / name).write_bytes(text.encode())
        try:
            found = content_hash(content_files(place))
            if found != source:
                raise Conflict(*attempting, f"its content has the hash {found}", "upload the content of that hash")
            # Whether its names clash depends on the experiment, which can give it another.
            own_controls(place)
        except ValueError as error:
            raise PlanError(*attempting, f"needed: {error}") from None
        adopt([place], cache)
