"""The rules of a schedule, and its changes of flows in the order of time.

A flow's congestion control depends on what was scheduled before:

    10 s  bic: {cc: reno}            bic ---> reno
    20 s  bic: {params: {...}}       checked as reno's

The numbers of the changes are computed in orchestrator/plan/schedule.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from longhaul.orchestrator.spec.congestion_controls import CongestionControl, module_params
from longhaul.orchestrator.spec.model import Change, Experiment, Flow, FlowSettings
from longhaul.orchestrator.spec.rules import MOST_FLOWS, Breach, parameter_breaches, path_breaches
from longhaul.orchestrator.spec.sections.path_model import LinkNumbers
from longhaul.orchestrator.spec.yaml_text import Location
from longhaul.orchestrator.system.errors import UnknownName, allowed_instead
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import parse_duration

# An entry of `flows`, and the names of the flows in it that a change addresses.
Addressed = tuple[Flow, list[str]]


@dataclass(frozen=True, slots=True)
class Step:
    """One flow at one change: `written` is its name in the experiment there."""

    position: int
    at_us: int
    written: str
    name: str
    before: CongestionControl
    after: CongestionControl
    settings: FlowSettings

    @property
    def place(self) -> Location:
        return ("schedule", self.position, "flows", self.written)


def schedule_breaches(experiment: Experiment) -> Iterator[Breach]:
    """Every broken rule of the schedule."""
    if sum(len(flow.names) for flow in experiment.flows) > MOST_FLOWS:
        # Reported already; checking each of them would take long.
        return
    addressed = _addressed(experiment)
    sound = True
    for position, change in enumerate(experiment.schedule):
        at: Location = ("schedule", position)
        yield from _moment(experiment, change, at)
        taken: dict[str, str] = {}
        for written in change.flows:
            found = [*_flow(experiment, addressed, change, written, (*at, "flows", written))]
            for name in [] if found else addressed[written][1]:
                if name in taken:
                    found.append(((*at, "flows", written), None, f"{name} is changed by {taken[name]} already"))
                    break
                taken[name] = written
            sound &= not found
            yield from found
    if sound and all(_known(experiment, flow) for flow in experiment.flows):
        for steps, controls in steps_by_change(experiment):
            yield from _parameters(experiment, steps, controls)


def _moment(experiment: Experiment, change: Change, at: Location) -> Iterator[Breach]:
    if parse_duration(change.at) >= parse_duration(experiment.duration):
        yield (*at, "at"), change.at, f"before the end of the run, {experiment.duration}"
    path, start = change.path, experiment.path
    for name, link in change.links.items():
        yield from _changed(link, (*at, "links", name))
    if path is None:
        if not change.flows and not change.links:
            yield at, None, "one of path, links and flows is needed"
        return
    yield from _changed(path, (*at, "path"))
    if path.reverse_bandwidth is not None and start.reverse_bandwidth is None and experiment.topology == "dumbbell":
        allowed = "only where path.reverse_bandwidth is given from the start"
        yield (*at, "path", "reverse_bandwidth"), path.reverse_bandwidth, allowed
    if path.mtu is not None and path.mtu > start.mtu:
        yield (
            (*at, "path", "mtu"),
            path.mtu,
            f"up to {start.mtu}, path.mtu at the start: queues are made for its frames",
        )


def _changed(numbers: LinkNumbers, at: Location) -> Iterator[Breach]:
    if not numbers.model_fields_set:
        yield at, None, "at least one field that changes is needed"
    yield from path_breaches(numbers, at)


def _flow(
    experiment: Experiment, addressed: Mapping[str, Addressed], change: Change, written: str, at: Location
) -> Iterator[Breach]:
    """Broken rules of a flow's change that do not depend on earlier changes."""
    settings = change.flows[written]
    if written not in addressed:
        known = dict.fromkeys(flow.name for flow, _ in addressed.values())
        yield at, None, allowed_instead(f"no flow has this name; known: {', '.join(known)}", written, addressed)
        return
    flow, _ = addressed[written]
    if flow.command is not None:
        yield at, None, "only for a flow without a command: a program has its own sockets"
    elif flow.kind != "tcp":
        yield at, None, f"only for a TCP flow, this one is {flow.kind}"
    elif flow.stop is not None and parse_duration(flow.stop) <= parse_duration(change.at):
        yield at, None, f"{written} ends at {flow.stop}: a change must come before that"
    elif settings.cc is None and not settings.params:
        yield at, None, "one of cc and params is needed"
    elif settings.cc is not None:
        try:
            experiment.control(settings.cc)
        except UnknownName as error:
            yield (*at, "cc"), settings.cc, error.allowed


def _parameters(
    experiment: Experiment, steps: Sequence[Step], controls: Mapping[str, CongestionControl]
) -> Iterator[Breach]:
    """Broken rules that depend on the congestion control of each flow at that time."""
    checked: set[tuple[str, str]] = set()
    given: dict[str, dict[str, str]] = {}
    for step in steps:
        if (step.written, step.after.name) in checked:
            continue
        checked.add((step.written, step.after.name))
        found = [*_step(step)]
        yield from found
        if not found:
            params = module_params(step.after, step.settings.params)
            if given.setdefault(step.after.name, params) != params:
                yield (*step.place, "params"), None, _shared(step.after, "all of them")
    for name, params in given.items():
        others = [flow for flow in _left_alone(experiment, steps) if controls[flow].name == name] if params else []
        if others:
            step = next(step for step in steps if step.after.name == name)
            yield (*step.place, "params"), None, _shared(step.after, others[0])


def _step(step: Step) -> Iterator[Breach]:
    for control in (step.before, step.after):
        if step.before is not step.after and control.both_ends:
            yield (
                (*step.place, "cc"),
                None,
                f"{control.name} works at both ends of a connection: a live connection can neither start nor stop using it",
            )
            return
    yield from parameter_breaches(step.after, step.settings.params, step.place)
    for parameter in step.after.parameters:
        if parameter.fixed and parameter.name in step.settings.params:
            yield (
                (*step.place, "params", parameter.name),
                None,
                "fixed once the module is loaded: not allowed in a schedule",
            )


def _shared(control: CongestionControl, other: str) -> str:
    return (
        f"parameters of {control.name} belong to its module, so to all its flows: give {other} the same in this change"
    )


def _left_alone(experiment: Experiment, steps: Sequence[Step]) -> Iterator[str]:
    """The flows with a congestion control that a change does not name and that do not end before it."""
    changed = {step.name for step in steps}
    for flow in experiment.flows:
        if flow.kind != "udp" and (flow.stop is None or parse_duration(flow.stop) > steps[0].at_us):
            yield from (name for name in flow.names if name not in changed)


def steps_by_change(experiment: Experiment) -> Iterator[tuple[list[Step], Mapping[str, CongestionControl]]]:
    """The steps of each change that has any, in the order of time, and the control of each flow after them."""
    addressed = _addressed(experiment)
    controls = {
        name: experiment.control(flow.cc) for flow in experiment.flows if flow.kind != "udp" for name in flow.names
    }
    for at_us, position, change in changes_in_order(experiment):
        steps = []
        for written, settings in change.flows.items():
            for name in addressed[written][1]:
                before = controls[name]
                after = before if settings.cc is None else experiment.control(settings.cc)
                steps.append(Step(position, at_us, written, name, before, after, settings))
                controls[name] = after
        if steps:
            yield steps, controls


def changes_in_order(experiment: Experiment) -> list[tuple[int, int, Change]]:
    """The time of each change in microseconds, its position in the schedule, and the change."""
    timed = [(parse_duration(change.at), position, change) for position, change in enumerate(experiment.schedule)]
    return sorted(timed, key=lambda one: one[:2])


def _addressed(experiment: Experiment) -> dict[str, Addressed]:
    """Each name that a schedule may use, with its entry and its flows."""
    names = {name: (flow, [name]) for flow in experiment.flows for name in flow.names}
    totals = {head: (flow, members) for flow in experiment.flows for head, members in flow.groups}
    return {flow.name: (flow, flow.names) for flow in experiment.flows} | totals | names


def _known(experiment: Experiment, flow: Flow) -> bool:
    """Whether a flow's congestion control is known; rules.py reports it otherwise."""
    try:
        experiment.control(flow.cc)
    except ValueError:
        return False
    return True
