"""The bill of materials has exactly the packages of the lock files, in the CycloneDX format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from docs.sbom import bill
from longhaul.orchestrator.kernels.build import known_kernels
from longhaul.orchestrator.kernels.release_lock import patches_for

REPOSITORY = Path(__file__).resolve().parents[2]
BILL = bill("2026-01-01T00:00:00+00:00")
PARTS = {part["bom-ref"]: part for part in BILL["components"]}


def _of(kind: str) -> dict[str, str]:
    """Name and version -> scope."""
    return {
        f"{part['name']} {part.get('version', '')}".strip(): part["scope"]
        for reference, part in PARTS.items()
        if reference.startswith(f"pkg:{kind}/")
    }


def test_it_is_a_valid_cyclonedx_bill() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(BILL)) is None


@pytest.mark.parametrize(
    ("lock", "scopes"),
    [
        ("requirements.lock", {"required"}),
        ("requirements-service.lock", {"required", "optional"}),
        ("requirements-hosts.lock", {"required", "optional"}),
        ("requirements-dev.lock", {"required", "optional", "excluded"}),
    ],
)
def test_a_lock_file_of_python_is_in_it(lock: str, scopes: set[str]) -> None:
    pinned = re.findall(r"^([^ #=\n]+)==([^ ;\\]+)", (REPOSITORY / lock).read_text(), re.MULTILINE)
    assert len(pinned) > 20
    found = _of("pypi")
    assert {found.get(f"{name} {version}") for name, version in pinned} <= scopes


def test_nothing_of_python_is_in_it_that_no_lock_file_has() -> None:
    locks = "".join(file.read_text() for file in REPOSITORY.glob("requirements*.lock"))
    assert [name for name in _of("pypi") if name.replace(" ", "==") not in locks] == []


def test_the_lock_file_of_npm_is_in_it_with_its_hashes() -> None:
    packages = json.loads((REPOSITORY / "dashboards/web/package-lock.json").read_text())["packages"]
    pinned = {
        f"{about.get('name', place.rpartition('node_modules/')[2])} {about['version']}"
        for place, about in packages.items()
        if place
    }
    assert set(_of("npm")) == pinned
    assert all("hashes" in part for reference, part in PARTS.items() if reference.startswith("pkg:npm/"))
    in_page = {name.split()[0] for name, scope in _of("npm").items() if scope == "required"}
    assert {"react", "uplot"} <= in_page
    assert not {"vite", "typescript", "@biomejs/biome"} & in_page


def test_packages_that_setup_and_the_images_install_are_in_it() -> None:
    found = {name.split()[0]: scope for name, scope in _of("deb").items()}
    for words in ("iproute2 mininet gcc bubblewrap", "prometheus postgresql postgresql-common python3-venv python3"):
        assert {found.get(name) for name in words.split()} == {"required"}, words
    assert found["qemu-system-x86"] == "excluded", "only a test needs it"
    assert not [name for name in found if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name)]


def test_the_kernels_are_in_it_with_their_patches() -> None:
    sources = {part["name"]: part for part in PARTS.values() if part["name"].startswith("linux-source-")}
    assert set(sources) == {f"linux-source-{version.partition('-')[0]}" for version in known_kernels()}
    for name, source in sources.items():
        patched = [REPOSITORY / patch["diff"]["url"] for patch in source["pedigree"]["patches"]]
        assert patched == [file for file, _ in patches_for(name.removeprefix("linux-source-"))]
        assert any("xmknod" in file.name for file in patched) == name.endswith(("-6.1", "-5.10"))


def test_every_dependency_is_listed() -> None:
    itself = BILL["metadata"]["component"]["bom-ref"]
    needs = {row["ref"]: set(row["dependsOn"]) for row in BILL["dependencies"]}
    assert set().union(*needs.values()) <= set(PARTS)
    reached, waiting = set(), [itself]
    while waiting:
        if (one := waiting.pop()) not in reached:
            reached.add(one)
            waiting.extend(needs[one])
    assert reached - {itself} == set(PARTS), "every part is needed by another"
