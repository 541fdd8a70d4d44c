"""The kernel modules of a run: which the guest loads, with which parameters; and which parameters are socket options.

A parameter with a socket option belongs to a flow. All others belong to their module and so to all the module's flows in
a run: two flows with different values are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from longhaul.orchestrator.plan.qdiscs import DCF, DCF_MODULE, LINK, LINK_MODULE
from longhaul.orchestrator.plan.run import Flow, Module, Wire
from longhaul.orchestrator.spec.congestion_controls import CongestionControl, module_params
from longhaul.orchestrator.spec.model import PROGRAM, Experiment
from longhaul.orchestrator.system.errors import PlanError

# lhfixed's constant window, in packets.
WINDOW_PARAMETER = "cwnd"
PROGRAMS_MODULE = "lh_programs"


def loaded_modules(experiment: Experiment, later: Iterable[CongestionControl]) -> tuple[Module, ...]:
    """The modules that the guest loads, in order: those of the flows' own controls, then those that a schedule switches to."""
    first: dict[str, tuple[str, dict[str, str]]] = {}
    modules: dict[str, Module] = {}
    for flow in experiment.flows:
        if flow.kind == "udp":
            continue
        control = experiment.control(flow.cc)
        params = module_params(control, flow.params)
        if flow.hystart is not None and control.hystart is not None:
            name, off, on = control.hystart
            params[name] = on if flow.hystart else off
        other, theirs = first.setdefault(control.name, (flow.name, params))
        if theirs != params:
            what = f"flow {other} gives {control.name} other parameters, and they belong to the module, so to all its flows of a run"
            raise PlanError(
                "compiling", f"flows.{flow.name}.params", what, "give both the same, or sweep them in runs of their own"
            )
        _add(experiment, modules, control, params)
    for control in later:
        _add(experiment, modules, control, {})
    return tuple(modules.values())


def _add(
    experiment: Experiment, modules: dict[str, Module], control: CongestionControl, params: dict[str, str]
) -> None:
    for module in control.needs:
        needed = experiment.control(module.removeprefix("tcp_"))
        # A replaced one offers the functions that the kernel's offers.
        modules.setdefault(needed.module, planned_module(needed, {}))
    if params or not (control.builtin or control.module in modules):
        modules[control.module] = planned_module(control, params)


def planned_module(control: CongestionControl, params: dict[str, str]) -> Module:
    """The module of a control, with these parameters."""
    return Module(
        control.module,
        params,
        control.builtin,
        control.source,
        file=control.file,
        registers=control.registers,
        replaces=control.name if control.replaces else "",
        control=control.written,
    )


def knob_path(name: str) -> str:
    """The file of a knob: a path, or the name of a sysctl."""
    return name if name.startswith("/") else f"/proc/sys/{name.replace('.', '/')}"


def program_modules(flows: Sequence[Flow]) -> Iterator[Module]:
    """The module that follows the connections of programs."""
    if any(flow.kind == PROGRAM for flow in flows):
        yield Module(PROGRAMS_MODULE, {})


def queue_modules(wires: Sequence[Wire]) -> Iterator[Module]:
    """Modules of kinds of queue that the kernel does not have."""
    kinds = {qdisc.kind for wire in wires for end in wire.ends for qdisc in end.qdiscs}
    for kind, module in ((DCF, DCF_MODULE), (LINK, LINK_MODULE)):
        if kind in kinds:
            yield Module(module, {})
