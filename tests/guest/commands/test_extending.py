"""docs/extending.md, executed: a copy of the tree with every example of the page, used as a user does.

One run uses six of the examples, which saves the time of five runs.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.system.settings import load_settings
from tests.support.extending import examples, extended_tree
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

KERNEL = "6.12"
ALL_AT_ONCE = """
experiment: extended
topology: home_line
path: {queue: codel_lan}
flows:
  - {name: app, cc: keeper, params: {kept: 0.9}}
  - {name: telescope, vlbi: {channels: 1, mhz: 1}}
duration: 10 s
warmup: 2 s
expect:
  - {measure: goodput_peak, flow: app, at_least: 20 Mbit/s}
"""
# Requests to the service in its own process: each path without a token, and with one.
CLIENT = """
import asyncio, json, sys
import httpx
from longhaul.api.app import create_app

async def ask(app, headers):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://lab", headers=headers) as client:
        return [(await client.get(path)).json() for path in sys.argv[1:]]

app = create_app()
token, _ = app.state.lab.access.add_token("reader", "read")
print(json.dumps([asyncio.run(ask(app, one)) for one in ({}, {"Authorization": f"Bearer {token}"})]))
"""


class Tree:
    """The copy of the tree, a home, and a cache with the kernels of this machine and the modules of the copy."""

    def __init__(self, folder: Path) -> None:
        self.root = extended_tree(folder / "tree")
        agent = self.root / "orchestrator" / "agent" / "build" / "longhaul-agent"
        assert agent.is_file(), "the agent is not built: make agent"
        cache = folder / "cache"
        cache.mkdir()
        (cache / "kernels").symlink_to(load_settings().cache / "kernels")
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "LONGHAUL_HOME": str(folder / "home"),
            "LONGHAUL_CACHE": str(cache),
            "MAKEFLAGS": "-j2",
        }

    def run(self, *arguments: str) -> str:
        """The output of a Python program of the copy."""
        done = run_program([sys.executable, *arguments], cwd=self.root, env=self._environment)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout

    def longhaul(self, *arguments: str) -> str:
        """The output of a verb."""
        return self.run("-m", "longhaul", *arguments)

    def longhaul_json(self, *arguments: str) -> Any:
        return json.loads(self.longhaul(*arguments, "--json"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("extended"))


@pytest.fixture(scope="module")
def modules(tree: Tree) -> Path:
    """The folder of the built modules of the copy."""
    return Path(tree.longhaul("modules", "build", "--kernel", KERNEL).splitlines()[-1])


def test_the_examples_are_in_the_projects_style(tree: Tree) -> None:
    files = sorted({one.file for one in examples() if one.file.endswith(".py")})
    for check in (["check"], ["format", "--check"]):
        tree.run("-m", "ruff", *check, "--config", str(REPOSITORY / "pyproject.toml"), *files)


def test_the_pages_that_list_things_have_them(tree: Tree) -> None:
    tree.run("-m", "docs.generate")
    written = {name: (tree.root / "docs" / name).read_text() for name in os.listdir(tree.root / "docs") if "." in name}
    for page, line in (
        ("catalogues.md", "| `goodput_peak` | `goodput_peak_bps` | flow | rate |"),
        ("catalogues.md", "| keeper |  | Reno that keeps four fifths of its window at a loss |"),
        ("catalogues.md", "### Parameters of keeper"),
        ("catalogues.md", "| gentle | One guest in virtual time, at the lowest priority. |"),
        ("catalogues.md", "| mathis/loss | 2 | 60 s |"),
        ("experiment-format.md", "## flows.vlbi"),
        ("topologies.md", "## home_line"),
        ("command-line.md", "`longhaul pipe [OPTIONS] {RATE} {RTT}`"),
        ("api.md", "GET /api/v1/queues"),
    ):
        assert line in written[page], (page, line)


def test_a_run_has_the_measure_control_queue_traffic_topology_and_backend(
    tree: Tree, modules: Path, tmp_path: Path
) -> None:
    assert (modules / "tcp_keeper.ko").is_file()
    assert "goodput_peak" in {row["measure"] for row in tree.longhaul_json("list", "measures")}
    file = tmp_path / "extended.yaml"
    file.write_text(ALL_AT_ONCE)
    planned = tree.longhaul("plan", str(file), "--backend", "gentle")
    assert "codel limit" in planned and "target 500us interval 10000us" in planned
    (run,) = tree.longhaul_json("run", str(file), "--backend", "gentle")["runs"]
    assert (run["status"], run["backend"]) == ("done", "gentle")
    app, telescope = run["flows"]
    assert (app["cc"], telescope["kind"]) == ("keeper", "udp")
    assert app["goodput_bps"] < app["goodput_peak_bps"] < 50e6
    # A channel of 1 MHz, two samples a hertz, two bits each.
    assert telescope["goodput_bps"] == pytest.approx(4e6, rel=0.01)


def test_the_paper_is_reproduced(tree: Tree, modules: Path) -> None:
    judged = tree.longhaul_json("reproduce", "mathis")["verdicts"]
    assert [(one["claim"], one["verdict"]) for one in judged] == [("one-in-a-thousand", "agrees"), ("half", "agrees")]


def test_the_verb_works(tree: Tree) -> None:
    assert tree.longhaul("pipe", "622 Mbit/s", "300 ms") == "23.325 MB\n"
    assert "Print the bandwidth-delay product" in tree.longhaul("pipe", "--help")


def test_the_service_has_the_route_the_queue_the_backend_and_the_traffic(tree: Tree) -> None:
    paths = ("/api/v1/queues", "/api/v1/catalogue/places", "/api/v1/catalogue/schema")
    refused, (queues, places, schema) = json.loads(tree.run("-c", CLIENT, *paths))
    assert {answer["status"] for answer in refused} == {401}
    assert {"name": "codel_lan", "marks": True} in queues
    assert {"name": "droptail", "marks": False} in queues
    (gentle,) = (place for place in places if place["backend"] == "gentle")
    assert gentle["name"] == "Sandbox, lowest priority"
    assert "vlbi" in schema["$defs"]["Flow"]["x-traffic"]
    assert "codel_lan" in schema["$defs"]["Path"]["properties"]["queue"]["enum"]
