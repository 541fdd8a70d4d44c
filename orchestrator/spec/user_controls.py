"""The congestion controls of an experiment's `modules`, from their entries; also before the experiment's fields are checked.

Presets and eras fill fields by what a control has, so they need those of `modules` before any other field is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from longhaul.orchestrator.modules.content import is_reference, place_of
from longhaul.orchestrator.spec.congestion_controls import ALIASES, CONGESTION_CONTROLS, CongestionControl, find_control
from longhaul.orchestrator.spec.kernel_versions import WIDE_NAMES
from longhaul.orchestrator.spec.model import Experiment, OwnCode
from longhaul.orchestrator.spec.presets import Find
from longhaul.orchestrator.spec.user_code.user_modules import (
    by_name,
    clashing,
    entries_of,
    entry_of,
    own_controls,
)
from longhaul.orchestrator.spec.yaml_text import Location
from longhaul.orchestrator.system.settings import load_settings

# Where an entry of `modules` is, as it was written, and what is allowed instead.
Refused = tuple[Location, object, str]


def controls_of(written: object, kernels: Sequence[str], *, builds: bool = True) -> list[CongestionControl]:
    """The controls in one entry, for an experiment with these kernels; ValueError states what is needed instead."""
    entry = entry_of(written)
    if entry is None:
        return []
    return own_controls(place_of(entry.place, load_settings().cache), kernels, entry.names, builds=builds)


def read_controls(
    experiment: Experiment, *, builds: bool = True
) -> tuple[Experiment, list[CongestionControl], list[Refused]]:
    """The experiment, the controls in its `modules`, and the entries that are refused.

    Without `builds` only texts are read, and a name that no text has is taken for a control of a source whose text says too little. An
    experiment whose flows use a control with a larger private area than its kernel keeps is returned with the kernel that has room for it.
    """
    controls, refused = _read(experiment, builds=builds)
    used = {flow.cc for flow in experiment.flows}
    used |= {change.cc for entry in experiment.schedule for change in entry.flows.values()}
    if any(control.needs_room and control.name in used for control in controls):
        roomy = _with_room(experiment)
        if roomy != experiment:
            return (roomy, *_read(roomy, builds=builds))
    return experiment, controls, refused


def _read(experiment: Experiment, *, builds: bool) -> tuple[list[CongestionControl], list[Refused]]:
    controls: list[CongestionControl] = []
    refused: list[Refused] = []
    kernels = [experiment.kernel, *(node.kernel for node in experiment.nodes.values() if node.kernel)]
    for place, written in enumerate(experiment.modules):
        try:
            controls += controls_of(written, kernels, builds=builds)
            allowed = clashing(controls)
        except ValueError as error:
            allowed = str(error)
        if allowed:
            refused.append((("modules", place), written, allowed))
    if experiment.modules and not builds:
        known = {*CONGESTION_CONTROLS, *ALIASES, *(control.name for control in controls)}
        unknown = dict.fromkeys(flow.cc for flow in experiment.flows if flow.cc is not None and flow.cc not in known)
        controls += [CongestionControl(name, "", loss_based=False) for name in unknown]
    return controls, refused


def _with_room(experiment: Experiment) -> Experiment:
    """The same with kernels that have room, where there are such."""
    nodes = {
        name: node.model_copy(update={"kernel": WIDE_NAMES.get(node.kernel, node.kernel)}) if node.kernel else node
        for name, node in experiment.nodes.items()
    }
    return experiment.model_copy(
        update={"kernel": WIDE_NAMES.get(experiment.kernel, experiment.kernel), "nodes": nodes}
    )


def find_early(data: Mapping[str, Any], own_code: OwnCode) -> Find:
    """The controls by name, read once one is looked for; an entry that is refused later has none."""

    @cache
    def own() -> Mapping[str, CongestionControl]:
        controls: list[CongestionControl] = []
        for entry in entries_of(data.get("modules")):
            # A caller who may name no file must not learn its content either.
            if own_code.reads_files or (own_code is OwnCode.SENT and is_reference(entry.place)):
                with contextlib.suppress(ValueError):
                    controls += controls_of(entry.at(entry.place), _kernels(data), builds=own_code is not OwnCode.TEXT)
        return by_name(controls)

    return lambda name: find_control(name, own())


def _kernels(data: Mapping[str, Any]) -> list[str]:
    """The kernels of an experiment, before its fields are checked."""
    own = data.get("kernel", Experiment.model_fields["kernel"].default)
    nodes = data.get("nodes")
    others = (
        [node.get("kernel") for node in nodes.values() if isinstance(node, Mapping)]
        if isinstance(nodes, Mapping)
        else []
    )
    return [one for one in (own, *others) if isinstance(one, str)]
