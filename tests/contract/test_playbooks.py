"""The playbooks match their documentation: defaults agree, examples are readable, units start programs that exist."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from longhaul.cli.main import app
from longhaul.orchestrator.execution.deployment import controls
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.host_policy import limits_of, read_policy
from longhaul.orchestrator.system.installation import KMOD

REPOSITORY = Path(__file__).resolve().parents[2]
PLAYBOOKS = REPOSITORY / "playbooks"
ROLES = sorted(path.name for path in (PLAYBOOKS / "roles").iterdir())
UNITS = sorted((PLAYBOOKS / "roles/controller/templates").glob("*.service.j2"))


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text()) if path.exists() else {}


@pytest.mark.parametrize("role", ROLES)
def test_defaults_are_those_that_are_documented(role: str) -> None:
    defaults = _read(PLAYBOOKS / "roles" / role / "defaults/main.yml")
    documented = _read(PLAYBOOKS / "roles" / role / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    assert {name: option["default"] for name, option in documented.items()} == defaults


def test_all_congestion_controls_are_loaded_unless_some_are_named() -> None:
    (loaded,) = (task for task in _read(PLAYBOOKS / "roles/kmod/tasks/main.yml") if "longhaul_modules" in task)
    names = jinja2.Environment().compile_expression(loaded["longhaul_modules"]["names"].strip("{ }"))
    given = _read(PLAYBOOKS / "roles/kmod/defaults/main.yml") | {"kmod_controls": controls()}
    assert names(given) == sorted(
        one.module for one in CONGESTION_CONTROLS.values() if (KMOD / f"{one.module}.c").exists()
    )
    assert names(given | {"kmod_modules": ["tcp_ccp"]}) == ["tcp_ccp"]


def test_the_example_policy_is_valid_and_names_the_hosts_of_the_inventory() -> None:
    policy = read_policy(PLAYBOOKS / "hosts.example.yml")
    groups = _read(PLAYBOOKS / "inventory.example.yml")["all"]["children"]
    assert set(groups["endpoints"]["hosts"]) == set(policy.hosts)
    assert {limits_of(policy, host)["device"] for host in policy.hosts} == {"eth1"}


@pytest.mark.parametrize("template", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_an_existing_program(template: Path) -> None:
    given = _read(PLAYBOOKS / "roles/controller/defaults/main.yml")
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    unit.read_string(jinja2.Template(template.read_text(), undefined=jinja2.StrictUndefined).render(given))
    program, *words = unit["Service"]["ExecStart"].split()
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    assert Path(program).name in ("longhaul", "dask", "prometheus")
    if Path(program).name == "longhaul":
        known = {name for parameter in root.commands[words[0]].params for name in parameter.opts}
        assert {word for word in words[1:] if word.startswith("--")} <= known
    assert (
        template.name.removesuffix(".service.j2")
        in _read(PLAYBOOKS / "roles/controller/vars/main.yml")["controller_units"]
    )


def test_the_service_reads_every_setting_of_its_unit() -> None:
    template = (PLAYBOOKS / "roles/controller/templates/service.env.j2").read_text()
    given = _read(PLAYBOOKS / "roles/controller/defaults/main.yml") | {
        "controller_url": "http://lab",
        "controller_grafana": "g",
    }
    written = jinja2.Template(template, undefined=jinja2.StrictUndefined).render(given)
    known = (REPOSITORY / "orchestrator/system/settings.py").read_text()
    for line in written.splitlines():
        if not line.startswith("#"):
            assert f"{line.split('=')[0]} " in known, line


def test_removing_the_agent_removes_its_files() -> None:
    source = (REPOSITORY / "orchestrator/agent/host/byte_quota.c").read_text()
    folder = re.search(r'#define FOLDER\s+"(.+)"', source)
    name = re.search(r'#define FILE_NAME FOLDER "(.+)"', source)
    assert folder is not None and name is not None
    (recorded,) = (task for task in _read(PLAYBOOKS / "roles/agent/tasks/main.yml") if "longhaul_install" in task)
    assert recorded["longhaul_install"]["made"] == [folder[1] + name[1]]
