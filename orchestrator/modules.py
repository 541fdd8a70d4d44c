"""The kernel modules of a run and what is set in them: which the guest loads, with which parameters, and what goes to sockets.

A parameter with a socket option belongs to a flow. Every other one belongs to its module and so to all the module's flows of
a run: two that ask for different values are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.congestion import CongestionControl
from orchestrator.errors import PlanError
from orchestrator.experiment import Experiment
from orchestrator.parameters import Parameter
from orchestrator.run import Module

_PACING = "SO_MAX_PACING_RATE"
# A window in packets that a control keeps whatever happens: lhfixed's.
WINDOW_PARAMETER = "cwnd"


def pacing_bps(control: CongestionControl, params: Mapping[str, object]) -> int | None:
    """The rate that goes through SO_MAX_PACING_RATE; None where none is given."""
    for parameter, written in _written(control, params):
        if parameter.socket_option == _PACING:
            return parameter.read(written) * 1000
    return None


def module_params(control: CongestionControl, params: Mapping[str, object]) -> dict[str, str]:
    """What a module gets, as text for the kernel; rules.py knows that each parameter exists."""
    return {
        parameter.name: str(parameter.read(written))
        for parameter, written in _written(control, params)
        if parameter.socket_option is None
    }


def loaded_modules(experiment: Experiment, later: Iterable[CongestionControl]) -> tuple[Module, ...]:
    """What the guest loads, in order: the flows' own controls, then those that a schedule switches to."""
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
        _add(modules, control, params)
    for control in later:
        _add(modules, control, {})
    return tuple(modules.values())


def _add(modules: dict[str, Module], control: CongestionControl, params: dict[str, str]) -> None:
    for module in control.needs:
        modules.setdefault(module, Module(module, {}))
    if params or not (control.builtin or control.module in modules):
        modules[control.module] = Module(control.module, params, control.builtin, control.source)


def _written(control: CongestionControl, params: Mapping[str, object]) -> Iterator[tuple[Parameter, object]]:
    for parameter in control.parameters:
        if parameter.name in params:
            yield parameter, params[parameter.name]
