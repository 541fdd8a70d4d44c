"""User-supplied kernel modules: a folder with a tcp_<name>.c, or a built tcp_<name>.ko.

    modules: [./mymodule]  -->  CongestionControl "mymodule", known by the hash of its content  -->  $LONGHAUL_CACHE/own/<hash>/
    modules: ["sha256:<hash>"]  <-----------------------------  the copy that is there already, as uploaded experiments name it
    modules: [{from: ./mymodule, as: mine}]  -->  the same as CongestionControl "mine"

A module with the name of one of the kernel's or the project's controls replaces it in its experiment, and has the same properties; with `as`
both are there. Neither changes the source: the built object gets other names (kernels/renamed_objects.py).

The copy in the cache is built and run, so that a run stays repeatable when the folder has changed or is gone.
It is built confined (build_user_modules.py) and loaded into guests behind a fence (backends/fence.py). Refused are links, whose targets may belong to
another owner; file names that make or a shell could read as more than a name; two controls of one name; and with `as`, the name of a known control.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.spec.congestion_controls import ALIASES, CONGESTION_CONTROLS, CongestionControl
from longhaul.orchestrator.spec.parameters import Parameter, declared_parameters, described, object_parameters
from longhaul.orchestrator.system.locks import making

# TCP_CA_NAME_MAX is 16 with its end.
_NAME = re.compile(r"tcp_([a-z][a-z0-9_]{0,14})")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_MOST_BYTES = 4 * 2**20
_MOST_FILES = 200
_REFERENCE = re.compile(r"sha256:([0-9a-f]{32})")
# No name of a user's module contains a hyphen, so this prefix makes a name that none has.
_PRIVATE = "own-"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of `modules`: a path or a reference, and the name that its control gets here, or ""."""

    place: str
    name: str = ""

    def at(self, place: str) -> str | dict[str, Any]:
        """The same entry for another place, as an experiment contains it."""
        return {"from": place, "as": self.name} if self.name else place


def entry_of(written: object) -> Entry | None:
    """An entry as the experiment has it; None if it is not one."""
    if isinstance(written, str):
        return Entry(written)
    if isinstance(written, Mapping) and {*written} == {"from", "as"}:
        place, name = written["from"], written["as"]
        return Entry(place, name) if isinstance(place, str) and isinstance(name, str) and name else None
    return None


def entries_of(listed: object) -> list[Entry]:
    """The entries of `modules`, without what is not one."""
    found = map(entry_of, listed if isinstance(listed, list) else [])
    return [entry for entry in found if entry is not None]


def is_reference(written: str) -> bool:
    """Whether an entry of `modules` is a hash, and not a path."""
    return written.startswith("sha256:")


def reference(source: str) -> str:
    """The entry of `modules` for the content with this hash."""
    return f"sha256:{source}"


def place_of(written: str, cache: Path) -> Path:
    """The path of an entry of `modules`; ValueError states what is needed instead."""
    if not is_reference(written):
        return Path(written)
    match = _REFERENCE.fullmatch(written)
    if match is None:
        raise ValueError("sha256: and 32 hexadecimal digits")
    place = cache / "own" / match[1]
    if not place.is_dir():
        raise ValueError("a module that was uploaded here before")
    return place


def own_controls(path: Path, name: str = "") -> list[CongestionControl]:
    """The congestion controls in one entry of `modules`, with the name of its `as`; ValueError states what is needed instead."""
    files = content_files(path)
    modules = [file for file in files if file.suffix == ".ko" or (file.name.startswith("tcp_") and file.suffix == ".c")]
    if not modules:
        raise ValueError("a folder with a tcp_<name>.c, or a tcp_<name>.ko")
    if name and len(modules) > 1:
        raise ValueError(
            f"a folder with one tcp_<name>.c, because `as` names one congestion control; it has {len(modules)}"
        )
    if name and own_name(f"tcp_{name}") is None:
        raise ValueError(f"a name like mine, up to 15 lower-case letters, digits and underscores; {name!r} is not")
    source = content_hash(files)
    return [_control(file, source, name) for file in modules]


def adopt(paths: Sequence[Path], cache: Path) -> list[str]:
    """Copy them into the cache; the hashes of their content, which are their names there."""
    sources = []
    for path in paths:
        files = content_files(path)
        sources.append(content_hash(files))
        target = cache / "own" / sources[-1]
        if target.is_dir():
            continue
        with making(target.parent) as new:
            copy = new / "module"
            copy.mkdir()
            for file in files:
                shutil.copyfile(file, copy / file.name)
            # Another process may have been quicker with the same content.
            if not target.is_dir():
                copy.rename(target)
    return sources


def own_name(stem: str) -> str | None:
    """The control in a file with this name (without its ending); None if it is not the name of one."""
    match = _NAME.fullmatch(stem)
    return match[1] if match else None


def clashing(controls: Sequence[CongestionControl]) -> str | None:
    """The problem with their names, or None."""
    seen: set[str] = set()
    for control in controls:
        if control.name in ALIASES:
            meant = ALIASES[control.name]
            return f"another name than {control.name}, which means {meant}: `as` gives it one, and a tcp_{meant}.c replaces {meant}"
        if control.name in CONGESTION_CONTROLS and not control.replaces:
            return f"another name than {control.name}, which is taken; only a tcp_{control.name}.c without `as` replaces it"
        if control.name in seen:
            return f"one {control.name} only; `as` gives another one its own name"
        seen.add(control.name)
    return None


def by_name(controls: Sequence[CongestionControl]) -> Mapping[str, CongestionControl]:
    """The controls by name."""
    return {control.name: control for control in controls}


def _control(file: Path, source: str, given: str) -> CongestionControl:
    name = own_name(file.stem)
    if name is None:
        raise ValueError(
            f"names like tcp_mine, up to 15 lower-case letters, digits and underscores; {file.name} is not"
        )
    text = file.suffix == ".c"
    about = (described(file) if text else "") or f"from {file.name}"
    parameters = declared_parameters(file) if text else object_parameters(file.read_bytes())
    known = CONGESTION_CONTROLS.get(name)
    if known is None:
        # Its law is unknown.
        control = CongestionControl(name, about, parameters=parameters, loss_based=False, source=source)
    else:
        control = _like(known, about, parameters, source)
    if given and given != name:
        return replace(control, name=given, file=file.stem, registers=given)
    if known is not None and not given:
        return replace(control, replaces=True, file=file.stem, registers=f"{_PRIVATE}{name}")
    return control


def _like(known: CongestionControl, about: str, parameters: Sequence[Parameter], source: str) -> CongestionControl:
    """A user's version of a known control: the same properties, and of the parameters those that its source has."""
    described_here = {parameter.name: parameter for parameter in known.parameters}
    found = []
    for parameter in parameters:
        same = described_here.get(parameter.name)
        found.append(parameter if same is None else replace(same, default=parameter.default or same.default))
    has_hystart = known.hystart is not None and any(parameter.name == known.hystart[0] for parameter in parameters)
    hystart = known.hystart if has_hystart else None
    return replace(known, about=about, builtin=False, parameters=tuple(found), hystart=hystart, source=source)


def content_files(path: Path) -> list[Path]:
    """Sources and headers of a folder, or the one object."""
    try:
        if path.suffix == ".ko" and path.is_file():
            files = [path]
        elif path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in (".c", ".h"))
        else:
            files = []
        for file in files:
            _check_file(file)
        if len(files) > _MOST_FILES:
            raise ValueError(f"at most {_MOST_FILES} files of source")
        if sum(file.stat().st_size for file in files) > _MOST_BYTES:
            raise ValueError(f"at most {_MOST_BYTES // 2**20} MiB of source")
    except OSError as error:
        raise ValueError(f"a folder that can be read ({error.strerror})") from error
    return files


def _check_file(file: Path) -> None:
    if not is_plain_name(file.name):
        raise ValueError(f"file names of letters, digits and _ . -, up to 64 of them; {file.name!r} is not")
    if file.is_symlink() or not file.is_file():
        raise ValueError(f"plain files; {file.name} is a link or not a file")


def is_plain_name(name: str) -> bool:
    """Whether make and a shell can read it only as a file's name."""
    return _FILE_NAME.fullmatch(name) is not None


def content_hash(files: Sequence[Path]) -> str:
    """The hash of a content."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:32]
