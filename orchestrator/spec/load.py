"""Load an experiment: a shipped name, a file or data from the API becomes a validated Experiment, or one error line per field.

    text --yaml_text.py--> data --change--> model.py: fields --> rules.py, schedule_rules.py: rules between fields --> sweep.py: every point

An error line states the field's path (and line), the value read, what is allowed, the nearest known name. No code is executed.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from longhaul.orchestrator.modules.content import is_reference
from longhaul.orchestrator.spec.mistakes import Mended, cut, field_problem, mistakes_of, with_allowed
from longhaul.orchestrator.spec.model import TRAFFIC, Capture, Experiment, OwnCode
from longhaul.orchestrator.spec.presets import spelt_out
from longhaul.orchestrator.spec.recordings import IMPORTED, is_imported, recordings_of, with_whole_files
from longhaul.orchestrator.spec.rules import breaches
from longhaul.orchestrator.spec.schedule_rules import schedule_breaches
from longhaul.orchestrator.spec.sections.flow_parts import with_whole_folder
from longhaul.orchestrator.spec.sweep import (
    MOST_POINTS,
    Point,
    UnknownField,
    alike,
    check_field,
    count_points,
    expand,
)
from longhaul.orchestrator.spec.topology import own_topology
from longhaul.orchestrator.spec.user_code.user_modules import by_name, entry_of, with_whole_path
from longhaul.orchestrator.spec.user_controls import find_early, read_controls
from longhaul.orchestrator.spec.yaml_text import (
    Document,
    Location,
    change_document,
    parse_document,
    put,
    read_document,
)
from longhaul.orchestrator.system.errors import FieldProblem, LonghaulError, NotFound, SpecError

__all__ = [
    "Experiment",
    "OwnCode",
    "at_point",
    "load_experiment",
    "parse_experiment",
    "plain_data",
    "shipped_experiment",
    "shipped_experiments",
    "shipped_text",
    "with_sweep",
]

_SHIPPED = Path(__file__).resolve().parents[1] / "experiments"
# A point that was read takes 4.4 kB until its experiment is deleted.
_MOST_READ_POINTS = 5000
# Mistakes that hide mistakes that hide mistakes; each round reads the experiment again.
_MOST_ROUNDS = 8
_UDP = [name for name, one in TRAFFIC.items() if one.kind == "udp"]

_ALL = "all: `longhaul list experiments`"


def shipped_experiments() -> dict[str, Path]:
    """Name -> file of the shipped experiments."""
    return {path.relative_to(_SHIPPED).with_suffix("").as_posix(): path for path in sorted(_SHIPPED.rglob("*.yaml"))}


def load_experiment(name_or_path: str, overrides: Sequence[str] = (), own_code: OwnCode = OwnCode.ANY) -> Experiment:
    """The experiment of a shipped name or a file, with `path.rtt=100ms` and the like applied; SpecError."""
    path = Path(name_or_path)
    shipped = _SHIPPED / f"{name_or_path}.yaml"
    if path.suffix not in (".yaml", ".yml", ".json") and not path.is_file():
        known = shipped_experiments()
        if name_or_path not in known:
            raise SpecError(name_or_path, [f"neither a file nor {_no_such(name_or_path, known)}; {_ALL}"])
        path = shipped
    return _load(read_document(path), overrides, own_code)


def shipped_experiment(name: str, overrides: Sequence[str] = (), own_code: OwnCode = OwnCode.NONE) -> Experiment:
    """The same for callers who may name a shipped experiment but no file."""
    known = shipped_experiments()
    if name not in known:
        raise SpecError(name, [f"not {_no_such(name, known)}; {_ALL}"])
    return _load(replace(read_document(known[name]), subject=name), overrides, own_code)


def shipped_text(name: str) -> str:
    """The text of a shipped experiment's file; NotFound."""
    known = shipped_experiments()
    if name not in known:
        raise NotFound("looking for experiment", name, f"it is not {_no_such(name, known)}", _ALL)
    return known[name].read_text()


def _no_such(name: str, known: Mapping[str, Path]) -> str:
    near = difflib.get_close_matches(name, known, 5) or [one for one in known if one.startswith(name[:3])][:5]
    hint = f"; nearest: {', '.join(near)}" if near else ""
    return f"a shipped experiment{hint}"


def parse_experiment(
    data: Mapping[str, Any],
    subject: str = "experiment",
    overrides: Sequence[str] = (),
    own_code: OwnCode = OwnCode.ANY,
) -> Experiment:
    """The experiment in plain data, as it comes from JSON; SpecError."""
    return _load(Document(subject, deepcopy(dict(data))), overrides, own_code)


def parse_text(text: str, subject: str) -> Experiment:
    """The experiment in a text that is not a file yet; SpecError."""
    return _load(parse_document(subject, text), ())


def parse_capture(data: Mapping[str, Any]) -> Capture:
    """A capture in plain data, for a run that is kept; SpecError."""
    document = Document("packets", {"capture": dict(data)})
    try:
        return Capture.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        for one in errors:
            one["loc"] = ("capture", *one["loc"])
        raise SpecError(document.subject, cut(mistakes_of(document, errors))) from None


def _refused_code(document: Document, experiment: Experiment, own_code: OwnCode) -> Iterator[FieldProblem]:
    """The user code in an experiment that may not run here; a change or a sweep can introduce it too."""
    if own_code.reads_files:
        return
    for position, flow in enumerate(experiment.flows):
        if flow.command is not None:
            allowed = "allowed: traffic of the lab: programs run where the experiment is a file, `longhaul run` there"
            yield field_problem(document, ("flows", position, "command"), None, allowed)
    if own_topology(experiment.topology):
        allowed = "allowed: a topology of the lab"
        yield field_problem(document, ("topology",), experiment.topology, allowed)
    for location, recording in recordings_of(experiment):
        if recording.file is not None and not is_imported(recording.file):
            yield field_problem(document, (*location, "file"), recording.file, f"allowed: {IMPORTED}")
    for position, written in enumerate(experiment.modules):
        entry = entry_of(written)
        if own_code is OwnCode.NONE:
            allowed = "modules of the lab; its operator can allow user code, which admins may then upload"
        elif entry is None or is_reference(entry.place):
            continue
        else:
            allowed = "uploaded sources, as sha256:<hash>"
        yield field_problem(document, ("modules", position), written, f"allowed: {allowed}")


def at_point(experiment: Experiment, point: Point) -> Experiment:
    """The experiment at a point: its values put in, without a sweep."""
    read = experiment._points.get(_point_key(point))
    if read is not None:
        return read
    data = deepcopy({name: value for name, value in experiment._data.items() if name != "sweep"})
    for path, value in point.items():
        put(data, path, value)
    where = ", ".join(f"{path}={value}" for path, value in point.items())
    subject = f"{experiment.experiment} at {where}" if point else experiment.experiment
    return _validate(Document(subject, data), experiment._own_code)


def _point_key(point: Point) -> str:
    return json.dumps(point)


def with_sweep(experiment: Experiment, sweep: list[dict[str, Any]] | None) -> Experiment:
    """The experiment with these points instead of its own; each is validated when it is compiled."""
    document = Document(experiment.experiment, {**deepcopy(experiment._data), "sweep": sweep})
    return _validate(document, experiment._own_code)


def plain_data(experiment: Experiment) -> dict[str, Any]:
    """The fields as they were written, as data that can be changed and written again."""
    return deepcopy(experiment._data)


def _load(document: Document, overrides: Sequence[str], own_code: OwnCode = OwnCode.ANY) -> Experiment:
    for change in overrides:
        # One by one: a later change may name a flow that an earlier one made.
        try:
            check_field(document.data, change.partition("=")[0].strip())
            document = change_document(document, [change])
        except KeyError as error:
            raise SpecError(f"--set {change}", [str(error.args[0])]) from None
    try:
        return _read(document, own_code)
    except SpecError as error:
        raise SpecError(document.subject, cut([*error.problems, *_hidden(document, own_code, error)])) from None


def _read(document: Document, own_code: OwnCode) -> Experiment:
    # A caller who may name no file must not learn any file's path.
    experiment = _validate(_with_whole_paths(document) if own_code.reads_files else document, own_code)
    _check_sweep(experiment, document)
    return experiment


def _hidden(document: Document, own_code: OwnCode, first: SpecError) -> list[FieldProblem]:
    """The mistakes that show only once those of the first error are corrected, so that the user gets all of them at once."""
    mended, found, error = Mended(document), [], first
    for _ in range(_MOST_ROUNDS):
        if not mended.mend(error.problems):
            break
        try:
            _read(mended.document, own_code)
        except SpecError as further:
            found += mended.hidden(further.problems)
            error = further
        except LonghaulError:
            break
        else:
            break
    return found


def _with_whole_paths(document: Document) -> Document:
    """The same with absolute paths, so that the data can be read again from any folder."""
    listed, topology = document.data.get("modules"), document.data.get("topology")
    whole: dict[str, Any] = {}
    if isinstance(listed, list):
        whole["modules"] = [with_whole_path(written, document.folder) for written in listed]
    if isinstance(flows := document.data.get("flows"), list):
        whole["flows"] = [with_whole_folder(flow, document.folder) for flow in flows]
    whole |= with_whole_files(document.data, document.folder)
    if isinstance(topology, str) and (own := own_topology(topology)):
        whole["topology"] = f"{(document.folder / own[0]).resolve()}:{own[1]}"
    return replace(document, data=document.data | whole) if whole else document


def _with_user_modules(document: Document, experiment: Experiment, *, builds: bool) -> Experiment:
    """The experiment, in which the controls in `modules` are known by name."""
    experiment, controls, refused = read_controls(experiment, builds=builds)
    if refused:
        problems = [field_problem(document, at, written, f"allowed: {allowed}") for at, written, allowed in refused]
        raise SpecError(document.subject, cut(problems))
    experiment._own = by_name(controls)
    return experiment


def _validate(document: Document, own_code: OwnCode) -> Experiment:
    try:
        experiment = Experiment.model_validate(spelt_out(document.data, _UDP, find_early(document.data, own_code)))
    except ValidationError as error:
        raise SpecError(document.subject, cut(mistakes_of(document, error.errors(include_url=False)))) from None
    if refused := [*_refused_code(document, experiment, own_code)]:
        raise SpecError(document.subject, cut(refused))
    experiment = _with_user_modules(document, experiment, builds=own_code is not OwnCode.TEXT)
    problems = [
        field_problem(document, location, read, allowed if read is None else with_allowed(allowed))
        for location, read, allowed in (
            *breaches(experiment, own_topologies=own_code.reads_files),
            *schedule_breaches(experiment),
        )
    ]
    if problems:
        raise SpecError(document.subject, cut(problems))
    experiment._data, experiment._own_code = document.data, own_code
    return experiment


def _check_sweep(experiment: Experiment, document: Document) -> None:
    """Validate each value alone, with the other fields at their first value; combinations are validated when they are compiled."""
    sweep = experiment.sweep
    if sweep is None:
        return
    problems: list[FieldProblem] = []
    if count_points(sweep) * experiment.repeats > MOST_POINTS:
        problems.append(field_problem(document, ("sweep",), None, f"more than {MOST_POINTS} runs"))
    if same := alike(sweep):
        problems.append(
            field_problem(
                document, ("sweep",), None, f"two points are both {same}; give flows that differ a `variant` each"
            )
        )
    fields = dict.fromkeys(path for point in sweep for path in point) if isinstance(sweep, list) else sweep
    for path in fields:
        try:
            check_field(document.data, path, swept=True)
        except UnknownField as error:
            problems.append(replace(field_problem(document, ("sweep", path), None, error.allowed), misnamed=True))
        except KeyError as error:
            problems.append(field_problem(document, ("sweep", path), None, str(error.args[0])))
    if not problems:
        first: list[str] = []
        for location, point in _probes(sweep):
            try:
                read = at_point(experiment, point)
            except SpecError as error:
                first = first or [str(one) for one in error.problems]
                problems.extend(
                    _at_point(document, location, point, one)
                    for one in error.problems
                    if not (_of_another_axis(one, location, sweep) and str(one) in first)
                )
                continue
            if len(experiment._points) < _MOST_READ_POINTS:
                experiment._points[_point_key(point)] = read
    if problems:
        raise SpecError(document.subject, cut(list(dict.fromkeys(problems))))


def _probes(sweep: Mapping[str, list[Any]] | list[dict[str, Any]]) -> list[tuple[Location, Point]]:
    if isinstance(sweep, list):
        return [(("sweep", position), point) for position, point in enumerate(expand(sweep))]
    first = {path: values[0] for path, values in sweep.items()}
    return [
        (("sweep", path, position), first | {path: value})
        for path, values in sweep.items()
        for position, value in enumerate(values)
    ]


def _of_another_axis(one: FieldProblem | str, location: Location, sweep: object) -> bool:
    """Whether the field of a mistake is swept as well, so that its own values show the mistake."""
    axes = sweep if isinstance(sweep, dict) else {}
    return isinstance(one, FieldProblem) and one.field in axes and one.field != location[1]


def _at_point(document: Document, location: Location, point: Point, problem: FieldProblem | str) -> FieldProblem:
    """A problem of one point, located at that point of the sweep; of a single value, at this value."""
    listed = len(location) == 2
    field = problem.field if isinstance(problem, FieldProblem) else ""
    at = (*location, field) if listed and field in point else location
    found = field_problem(document, at, None, str(problem))
    is_value = field == at[-1] if listed else field == at[1]
    return replace(found, nearest=problem.nearest) if is_value and isinstance(problem, FieldProblem) else found
