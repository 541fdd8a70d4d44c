"""The changes of a schedule in numbers: what changes on the path, in modules and on sockets, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from longhaul.orchestrator.plan.run import Flow, FlowChange, ModuleChange
from longhaul.orchestrator.spec.congestion_controls import CongestionControl, module_params, pacing_bps
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.schedule_rules import changes_in_order, steps_by_change
from longhaul.orchestrator.spec.sections.path_model import LinkNumbers, PathNumbers
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which the path or single links change, and their new values."""

    at_us: int
    path: PathNumbers | None
    links: Mapping[str, LinkNumbers]


def path_changes(experiment: Experiment) -> list[Moment]:
    """Every change of the path, in the order of time."""
    return [
        Moment(at_us, change.path, change.links)
        for at_us, _, change in changes_in_order(experiment)
        if change.path is not None or change.links
    ]


def flow_changes(experiment: Experiment, flows: Sequence[Flow]) -> list[ModuleChange | FlowChange]:
    """The changes of modules and sockets, in the order of time; modules before sockets at the same time."""
    planned = {flow.name: flow for flow in flows}
    pacing = {flow.name: flow.options.max_pacing_bps for flow in flows}
    made: list[ModuleChange | FlowChange] = []
    for steps, _ in steps_by_change(experiment):
        modules: dict[str, ModuleChange] = {}
        sockets = []
        for step in steps:
            switches = step.before is not step.after
            if params := module_params(step.after, step.settings.params):
                modules[step.after.module] = ModuleChange(step.at_us, step.after.module, params)
            requested = pacing_bps(step.after, step.settings.params)
            if requested is None:
                # A rate belongs to the former control: the next one does not have it.
                requested = 0 if switches else pacing[step.name]
            if switches or requested != pacing[step.name]:
                sockets.append(
                    FlowChange(
                        step.at_us,
                        planned[step.name].id,
                        step.after.name if switches else None,
                        requested if requested != pacing[step.name] else None,
                    )
                )
            pacing[step.name] = requested
        made += [*modules.values(), *sockets]
    return made


def scheduled_controls(experiment: Experiment) -> list[CongestionControl]:
    """Every congestion control that a flow is switched to."""
    return [step.after for steps, _ in steps_by_change(experiment) for step in steps if step.before is not step.after]
