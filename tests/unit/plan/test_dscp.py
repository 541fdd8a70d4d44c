"""The class of a flow's packets in the experiment and in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Run, compile_plan
from longhaul.orchestrator.preview.describe import describe_run
from longhaul.orchestrator.spec.sections.flow_parts import DSCPS, dscp_text
from longhaul.orchestrator.system.errors import SpecError
from tests.support.guests import experiment


def planned(**flow: Any) -> Run:
    return compile_plan(experiment(flows=[{"name": "one", "cc": "cubic"} | flow])).runs[0]


@pytest.mark.parametrize(
    ("written", "number"),
    [("EF", 46), ("ef", 46), ("CS5", 40), ("AF41", 34), ("AF13", 14), ("VA", 44), ("LE", 1), (63, 63), (1, 1)],
)
def test_names_are_those_of_the_registry(written: str | int, number: int) -> None:
    run = planned(dscp=written)
    assert run.flows[0].options.dscp == number
    assert Run.from_json(run.as_json()) == run
    assert f"DSCP {dscp_text(number)}" in "\n".join(describe_run(run))


def test_the_default_class_is_left_out() -> None:
    for written in ("BE", "CS0", 0):
        assert planned(dscp=written) == planned()
    assert "dscp" not in str(planned().as_json())
    assert len(set(DSCPS.values())) == len(DSCPS) - 1


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ({"dscp": "EF1"}, "one of BE, LE, CS0"),
        ({"dscp": 64}, "a number from 0 to 63"),
        ({"dscp": True}, "a number from 0 to 63"),
        ({"dscp": "EF", "tool": "iperf3"}, "only with tool lh-flow"),
        ({"dscp": "EF", "command": {"server": ["a"], "client": ["b"]}}, "no value with command"),
        ({"dscp": "EF", "sockopts": [{"level": "ip", "name": "IP_TOS", "value": 8}]}, "no value with IP_TOS"),
        ({"dscp": "EF", "sockopts": [{"level": "ip", "name": "WRONG", "value": 8}]}, "as the name one of"),
    ],
)
def test_what_is_refused(flow: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        planned(**flow)
