"""docker-compose.yml is valid by the compose specification, and every service is as closed as docs/containers.md describes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from podman_compose import rec_subs

REPOSITORY = Path(__file__).resolve().parents[2]
FILE = REPOSITORY / "docker-compose.yml"
PROFILES = {
    "lab": {"api", "scheduler", "worker", "postgres", "prometheus", "grafana"},
    "minimal": {"minimal"},
}


def config() -> dict[str, Any]:
    """The file as compose reads it by default: anchors merged, variables filled in."""
    found: dict[str, Any] = rec_subs(yaml.safe_load(FILE.read_text()), {})
    return found


def services(profile: str) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in config()["services"].items() if profile in service["profiles"]}


def test_it_is_clean() -> None:
    """Every key, duration, port and reference; unknown ones are refused."""
    compose = PyCompose.from_yaml(yaml.safe_dump(config()))
    compose.validate()
    assert {name: set(services(name)) for name in PROFILES} == PROFILES
    assert set(compose.service_names()) == set().union(*PROFILES.values())


@pytest.mark.parametrize("profile", PROFILES)
def test_every_service_is_closed(profile: str) -> None:
    for name, service in services(profile).items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert "privileged" not in service, name
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} opens {port}"


@pytest.mark.parametrize("profile", PROFILES)
def test_no_service_has_a_password_that_others_know(profile: str) -> None:
    for name, service in services(profile).items():
        for variable, value in service.get("environment", {}).items():
            assert not (re.search("PASSWORD|TOKEN|SECRET", variable) and value), f"{name}: {variable}"


def test_services_that_run_user_code_reach_nothing_else() -> None:
    lab = services("lab")
    networks = config()["networks"]
    assert networks["inside"]["internal"] is True
    for name in ("scheduler", "worker"):
        assert lab[name]["networks"] == ["inside"], name
        assert "ports" not in lab[name], name
    assert lab["postgres"]["network_mode"] == "none"


def test_the_image_takes_nothing_from_a_working_copy_but_its_parts() -> None:
    """The build context contains the files that are copied, and no build products."""
    ignored = (REPOSITORY / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE):
        for part in source.split():
            assert any(
                one == part or one.startswith(f"{part}/") or part.startswith(f"{one}/") for one in let_through
            ), part
    assert {"orchestrator/agent/build", "**/__pycache__"} <= set(ignored)
