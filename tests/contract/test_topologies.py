"""Every topology of the catalogue builds with the real Mininet, which is a package of the system's own Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from topologies import CATALOG

REPOSITORY = Path(__file__).resolve().parents[2]

BUILD = """
import importlib, json, sys
module, _, name = sys.argv[1].partition(":")
topo = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
print(json.dumps({"nodes": sorted(topo.nodes()), "links": len(topo.links())}))
"""


@pytest.mark.parametrize("name", CATALOG)
def test_a_topology_builds_at_its_smallest_and_by_default(name: str) -> None:
    topology = CATALOG[name]
    for parameters in (
        {one.name: one.default for one in topology.parameters},
        {one.name: one.low for one in topology.parameters},
    ):
        result = subprocess.run(
            ["/usr/bin/python3", "-c", BUILD, topology.topo_class, json.dumps(parameters)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{result.stderr}\nthe package mininet is needed: run `make packages`"
        assert json.loads(result.stdout)["links"] > 0


def test_the_dumbbell_has_the_devices_of_the_plan() -> None:
    from orchestrator.plan import compile_plan
    from orchestrator.spec import load_experiment

    run = compile_plan(load_experiment("rtt-fairness")).runs[0]
    planned = {end.dev for end in run.ends}
    senders = sum(node.name.startswith("s") for node in run.nodes)
    script = (
        "from topologies.dumbbell import Dumbbell\n"
        f"topo = Dumbbell(senders={senders})\n"
        "print(*(i[k] for _, _, i in topo.links(withInfo=True) for k in ('intfName1', 'intfName2')))"
    )
    said = subprocess.run(
        ["/usr/bin/python3", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    assert set(said.split()) == planned
