"""User-supplied congestion controls of an experiment: the entries of `modules`, and the properties of their controls.

    modules: [./mymodule]                          the controls that its source registers (orchestrator/modules/), by their names
    modules: ["sha256:<hash>"]                     the copy in the cache, as uploaded experiments name it
    modules: [{from: ./mymodule, as: mine}]        its control as "mine"
    modules: [{from: ./five, as: {bbr: mine}}]     of several controls, bbr as "mine"

A control with the name of one of the kernel's or the project's replaces it in its experiment, and has the same properties; with `as`
both are there. Neither changes the source: the built object gets other names (modules/objects.py). So does an object whose module has the name
of one of the kernel's, and each control of an object with several.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.modules.content import is_reference, is_repository
from longhaul.orchestrator.spec.congestion_controls import ALIASES, CONGESTION_CONTROLS, CongestionControl
from longhaul.orchestrator.spec.parameters import Parameter, described, object_parameters, parameters_of_user_source
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.modules.controls import FoundControl

# Names that `as` gives. TCP_CA_NAME_MAX is 16 with its end.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
# Names that sources register; others need `as`.
_REGISTERED = re.compile(r"[A-Za-z0-9][\w.+-]{0,14}", re.ASCII)
# Of the names that replaced controls have in the guest; no source's name may begin so.
_PRIVATE = "own-"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of `modules`: a path, a repository or a reference, and the names that its controls get here by the names they register.

    A control that is alone in its source has its name under "".
    """

    place: str
    names: Mapping[str, str] = field(default_factory=dict)

    def at(self, place: str) -> str | dict[str, Any]:
        """The same entry for another place, as an experiment contains it."""
        if not self.names:
            return place
        return {"from": place, "as": self.names[""] if "" in self.names else dict(self.names)}


def entry_of(written: object) -> Entry | None:
    """An entry as the experiment has it; None if it is not one."""
    if isinstance(written, str):
        return Entry(written)
    if not isinstance(written, Mapping) or {*written} != {"from", "as"}:
        return None
    place, names = written["from"], written["as"]
    names = {"": names} if isinstance(names, str) else names
    if not isinstance(place, str) or not isinstance(names, Mapping) or not names:
        return None
    if not all(isinstance(one, str) for pair in names.items() for one in pair) or not all(names.values()):
        return None
    return Entry(place, dict(names))


def with_whole_path(written: object, folder: Path) -> object:
    """An entry with an absolute path, where it has a path."""
    entry = entry_of(written)
    if entry is None or is_reference(entry.place) or is_repository(entry.place):
        return written
    return entry.at(str((folder / entry.place).resolve()))


def entries_of(listed: object) -> list[Entry]:
    """The entries of `modules`, without what is not one."""
    found = map(entry_of, listed if isinstance(listed, list) else [])
    return [entry for entry in found if entry is not None]


def own_controls(
    path: Path, kernels: Sequence[str], names: Mapping[str, str] | None = None, *, builds: bool = True
) -> list[CongestionControl]:
    """The controls of one entry of `modules`, with the names of its `as`; ValueError states what is needed instead."""
    # The code that reads sources takes a tenth of a command's start, and few experiments have modules.
    from longhaul.orchestrator.modules.controls import find_controls

    source = find_controls(path, kernels, builds=builds)
    found = {one.name: one for one in source.controls}
    given = _given(names or {}, found) if found else {}
    shared = {module for module, count in Counter(one.module for one in source.controls).items() if count > 1}
    return [_control(one, source.hash, given.get(one.name, ""), shared=one.module in shared) for one in source.controls]


def _given(names: Mapping[str, str], found: Mapping[str, FoundControl]) -> dict[str, str]:
    """The names that controls get, by the names that they register."""
    listed = ", ".join(found)
    if "" in names and len(found) > 1:
        raise ValueError(
            f"`as: {{{next(iter(found))}: {names['']}}}`, because its source has several controls: {listed}"
        )
    given = {next(iter(found)) if name == "" else name: wanted for name, wanted in names.items()}
    for name, wanted in given.items():
        if name not in found:
            raise ValueError(f"names of its controls in `as`; {name!r} is not among {listed}")
        if not is_control_name(wanted):
            raise ValueError(
                f"a name like mine, up to 15 lower-case letters, digits and underscores; {wanted!r} is not"
            )
    return given


def is_control_name(name: str) -> bool:
    """Whether a control may get this name."""
    return _NAME.fullmatch(name) is not None


def is_usable(name: str) -> bool:
    """Whether an experiment can use a control by the name that its source registers."""
    return _REGISTERED.fullmatch(name) is not None and not name.startswith(_PRIVATE)


def clashing(controls: Sequence[CongestionControl]) -> str | None:
    """The problem with their names, or None."""
    seen: set[str] = set()
    for control in controls:
        if control.name in ALIASES:
            meant = ALIASES[control.name]
            return f"another name than {control.name}, which means {meant}: `as` gives it one, and a source that registers {meant} replaces {meant}"
        if control.name in CONGESTION_CONTROLS and not control.replaces:
            return f"another name than {control.name}, which is taken; only a source that registers {control.name}, without `as`, replaces it"
        if control.name in seen:
            return f"one {control.name} only; `as` gives another one its own name: {{from: ..., as: {{{control.name}: mine}}}}"
        seen.add(control.name)
    return None


def by_name(controls: Sequence[CongestionControl]) -> Mapping[str, CongestionControl]:
    """The controls by name."""
    return {control.name: control for control in controls}


def _control(one: FoundControl, source: str, given: str, *, shared: bool) -> CongestionControl:
    name = one.name
    if not given and not is_usable(name):
        raise ValueError(
            f"`as` with a name for its control {name!r}: letters, digits and _ . + -, up to 15 of them, not {_PRIVATE}..."
        )
    is_text = one.file is not None and one.file.suffix == ".c"
    about = ""
    parameters: tuple[Parameter, ...] = ()
    if one.file is not None:
        about = (described(one.file) if is_text else "") or f"from {one.file.name}"
        parameters = parameters_of_user_source(one.file) if is_text else object_parameters(one.file.read_bytes())
    known = CONGESTION_CONTROLS.get(name)
    if known is None:
        # Its law is unknown.
        control = CongestionControl(name, about, parameters=parameters, loss_based=False, source=source)
    else:
        control = _like(known, about, parameters, source)
    control = replace(
        control,
        problem=one.problem,
        needs_room=one.needs_room,
        written=name if shared else "",
        is_bpf=one.is_bpf,
    )
    if known is not None and not given:
        return replace(control, replaces=True, file=one.module, registers=f"{_PRIVATE}{name}")
    called = given or name
    if called != name or shared:
        return replace(control, name=called, file=one.module, registers=called)
    if one.module in _taken_modules() - {f"tcp_{name}"}:
        return replace(control, object=f"own_{name}", file=one.module, registers=name)
    return control if one.module == f"tcp_{name}" else replace(control, object=one.module)


def _taken_modules() -> set[str]:
    return {control.module for control in CONGESTION_CONTROLS.values()}


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
