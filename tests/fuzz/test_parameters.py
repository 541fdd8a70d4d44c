"""A parameter outside its range is refused twice: when an experiment is read, and by the kernel itself.

The kernel is tested with a run.json that no experiment makes: the guest must name the parameter and end, not crash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.plan.run import Module, Run
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.parameters import Parameter
from longhaul.orchestrator.system.errors import BackendError, SpecError
from tests.fuzz.experiments import PROJECT_CONTROLS, values_of
from tests.fuzz.lab import Lab

DECLARED = [
    pytest.param(cc, parameter, id=f"{cc}-{parameter.name}")
    for cc in PROJECT_CONTROLS
    for parameter in CONGESTION_CONTROLS[cc].parameters
    if parameter.socket_option is None
]


def written(cc: str, **params: Any) -> dict[str, Any]:
    return {
        "experiment": "parameters",
        "path": {"bandwidth": "1 Mbit/s", "rtt": "10 ms"},
        "flows": [{"name": "one", "cc": cc, "params": params}],
        "duration": "100 ms",
        "start_jitter": "0 s",
    }


@given(st.data())
@pytest.mark.parametrize(("cc", "parameter"), DECLARED)
def test_an_experiment_accepts_values_inside_and_refuses_values_outside(
    cc: str, parameter: Parameter, data: st.DataObject
) -> None:
    inside = data.draw(values_of(parameter))
    shown: object = inside if parameter.unit == "number" else parameter.show(inside)
    (flow,) = parse_experiment(written(cc, **{parameter.name: shown})).flows
    assert parameter.read(flow.params[parameter.name]) == inside
    outside = data.draw(st.integers(parameter.high + 1, parameter.high**2 + 10) | st.integers(-10, parameter.low - 1))
    shown = outside if parameter.unit in ("number", "switch") else parameter.show(outside)
    with pytest.raises(SpecError, match=parameter.name):
        parse_experiment(written(cc, **{parameter.name: shown}))


def with_parameter(run: Run, name: str, value: object) -> Run:
    module, *others = run.modules
    return replace(run, modules=(Module(module.name, {name: str(value)}), *others))


@pytest.mark.parametrize(("cc", "parameter"), DECLARED)
def test_the_kernel_refuses_values_outside(lab: Lab, kernel: str, cc: str, parameter: Parameter) -> None:
    run = lab.plan(written(cc) | {"kernel": kernel})
    for value in (parameter.high + 1, *([parameter.low - 1] if parameter.low else [-1]), 2**32, "ten"):
        with pytest.raises(BackendError, match=f"loading module tcp_{cc}: parameters '{parameter.name}={value}': "):
            lab.execute(with_parameter(run, parameter.name, value))


@pytest.mark.parametrize(("cc", "parameter"), DECLARED)
def test_the_kernel_accepts_both_ends_of_the_range(lab: Lab, kernel: str, cc: str, parameter: Parameter) -> None:
    run = lab.plan(written(cc) | {"kernel": kernel})
    for value in (parameter.low, parameter.high):
        done = lab.execute(with_parameter(run, parameter.name, value))
        assert done.facts["flows"][0]["cc"] == cc


@pytest.mark.parametrize("cc", PROJECT_CONTROLS)
def test_a_later_write_outside_is_refused_too(lab: Lab, kernel: str, cc: str) -> None:
    """Through /sys/module, as the agent sets parameters of built-in modules."""
    run = lab.plan(written(cc) | {"kernel": kernel})
    module, *others = run.modules
    parameter = next(one for one in CONGESTION_CONTROLS[cc].parameters if one.socket_option is None)
    later = Module(module.name, {parameter.name: str(parameter.high + 1)}, builtin=True)
    with pytest.raises(BackendError, match=f"setting a parameter of module tcp_{cc}: .*result out of range"):
        lab.execute(replace(run, modules=(module, later, *others)))
