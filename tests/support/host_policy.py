"""A policy of three hosts, in force or not, and an experiment between two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.spec.host_policy import Policy
from longhaul.orchestrator.spec.load import parse_experiment

HOST: dict[str, Any] = {
    "ssh": {"address": "203.0.113.5"},
    "traffic": {"address": "10.1.0.2", "device": "eth1"},
    "ports": "10000-10003",
    "rate": "100 Mbit/s",
    "run_volume": "2 GB",
    "day_volume": "50 GB",
    "longest": "10 min",
}


POLICY: dict[str, Any] = {
    "hosts": {
        "hk": HOST,
        "chicago": {**HOST, "traffic": {"address": "10.2.0.2", "device": "eth0"}},
        "london": {**HOST, "traffic": {"address": "10.3.0.2", "device": "eth0"}},
    },
    "paths": [{"between": ["hk", "chicago"], "provisioned": True}, {"between": ["hk", "london"]}],
}


SPEC: dict[str, Any] = {
    "experiment": "far",
    "path": {"bandwidth": "1 Gbit/s", "rtt": "139 ms"},
    "flows": [{"name": "app", "cc": "cubic"}],
    "duration": "10 s",
}


def policy(**changes: Any) -> Policy:
    return Policy.model_validate({**POLICY, **changes})


def put_in_force(policy: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = folder / "hosts.yml"
    file.write_text(json.dumps(policy))
    monkeypatch.setenv("LONGHAUL_HOSTS", str(file))
    return file


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy in force."""
    return put_in_force(POLICY, tmp_path, monkeypatch)


def planned(spec: dict[str, Any], *hosts: str) -> Plan:
    return compile_plan(parse_experiment(spec), backend="hosts", hosts=hosts or ("hk", "chicago"))
