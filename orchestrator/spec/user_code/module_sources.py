"""Upload of a user-supplied module: a source becomes texts under the hash of their content, and a folder again.

    ./mymodule/*  --read-->  hash, {name: text}  --HTTP-->  --admit-->  $LONGHAUL_CACHE/own/<hash>/     named "sha256:<hash>"

An upload must match its hash, and its file names must be plain. Objects are not uploaded: a lab builds what it runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from longhaul.orchestrator.modules.content import adopt, content_files, content_hash, is_plain_path, is_source, place_of
from longhaul.orchestrator.modules.controls import NEEDED
from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.system.errors import Conflict, PlanError
from longhaul.orchestrator.system.settings import load_settings


def read_sources(written: str, attempting: tuple[str, str] | None = None) -> tuple[str, dict[str, str]]:
    """The hash and the texts of a module's source; PlanError if it cannot be uploaded."""
    attempting = attempting or ("uploading module", written)
    try:
        path = place_of(written, load_settings().cache)
        if path.suffix == ".ko":
            raise ValueError("the source: objects are not uploaded")
        files = content_files(path)
        texts = {name: file.read_bytes().decode() for name, file in files.items()}
        _check_recipe(texts)
        return content_hash(files), texts
    except UnicodeDecodeError:
        raise PlanError(*attempting, "its sources are not UTF-8 text", "convert them") from None
    except ValueError as error:
        raise PlanError(*attempting, f"needed: {error}") from None


def admit_sources(files: Mapping[str, str], source: str | None, cache: Path) -> str:
    """Keep an upload under its hash, which must be `source` if that is given, and return the hash; PlanError, Conflict."""
    attempting = "receiving module", source or next(iter(files), "")
    # A page sends whole folders: documents with odd names are left out, as of a folder on disk.
    files = {name: text for name, text in files.items() if is_plain_path(name) or is_source(name)}
    if wrong := next((name for name in files if not is_plain_path(name) or name.endswith((".ko", ".o"))), None):
        allowed = "names of letters, digits and _ . -, up to 64 of them in each part of a path"
        raise PlanError(*attempting, f"{wrong[:80]!r} is not the name of a source", f"allowed: {allowed}")
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        place = Path(folder)
        try:
            for name, text in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(text.encode())
        except OSError as error:
            what = f"its files cannot be laid out: {error.strerror}"
            raise PlanError(*attempting, what, "send a folder's files, each once") from None
        try:
            # Its controls are read when an experiment names it: only then the kernel is known that it is built for.
            _check_recipe(files)
            found = content_hash(content_files(place))
            if source not in (None, found):
                raise Conflict(*attempting, f"its content has the hash {found}", "upload the content of that hash")
        except ValueError as error:
            raise PlanError(*attempting, f"needed: {error}") from None
        return adopt([place], cache)[0]


def _check_recipe(files: Mapping[str, str]) -> None:
    if not Recipe(files).makes_modules:
        raise ValueError(NEEDED)
