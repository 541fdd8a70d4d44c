"""The images: small, of ordinary users, without secrets, and with the kernels that kmod/sandbox names."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.containers.podman import MARKER, REPOSITORY, TARGETS, image, podman

_MOST_BYTES = 900_000_000
# What a program of the image would give away: a token, a private key, somebody's password for a package index.
_SECRETS = re.compile(
    rb"lh_[0-9a-f]{12}_[\w-]{43}|-----BEGIN [A-Z ]*PRIVATE KEY-----\r?\n[A-Za-z0-9+/=]{60}|https?://[^\s/:@]+:[^\s/@]+@[\w.-]+/"
)
_PROFILE = REPOSITORY / "containers" / "seccomp.json"
_ENGINES = Path("/usr/share/containers/seccomp.json")

Images = dict[str, dict[str, Any]]


def run(*words: str) -> str:
    return podman("run", "--rm", "--network=none", image("runtime"), *words)


def test_the_image_is_small(images: Images) -> None:
    assert images["runtime"]["Size"] < _MOST_BYTES


@pytest.mark.parametrize("target", TARGETS)
def test_an_ordinary_user_runs_it_and_something_looks_after_its_health(images: Images, target: str) -> None:
    about = images[target]
    user, group = about["Config"]["User"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert about["Healthcheck"]["Test"][0] == "CMD"


@pytest.mark.parametrize("target", TARGETS)
def test_there_are_no_secrets_inside(images: Images, target: str) -> None:
    """Neither in what was told to make it nor in any file of any layer; those of the build least of all."""
    told = podman("history", "--no-trunc", "--format", "{{.CreatedBy}}", image(target)) + json.dumps(images[target])
    assert MARKER not in told
    assert not _SECRETS.search(told.encode())
    found: set[bytes] = set()
    with subprocess.Popen(["podman", "save", image(target)], stdout=subprocess.PIPE) as saving:
        assert saving.stdout is not None
        before = b""
        while chunk := saving.stdout.read(2**24):
            held = before + chunk
            found |= {match[0] for match in _SECRETS.finditer(held)}
            assert MARKER.encode() not in held
            before = held[-4096:]
    assert saving.returncode == 0
    assert found == set()


def test_it_is_of_this_version(images: Images) -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert images["runtime"]["Config"]["Labels"]["org.opencontainers.image.version"] == version


@pytest.mark.usefixtures("images")
def test_kernels_are_the_ones_that_their_folders_name() -> None:
    for version in ("6.12", "6.1"):
        manifest = json.loads(run("cat", f"/opt/longhaul/cache/kernels/current-{version}/manifest.json"))
        folder = run("readlink", f"/opt/longhaul/cache/kernels/current-{version}").strip()
        assert (manifest["version"], manifest["hash"]) == (version, folder)
        for file, sha256 in manifest["files"].items():
            assert run("sha256sum", f"/opt/longhaul/cache/kernels/{folder}/{file}").split()[0] == sha256


@pytest.mark.usefixtures("images")
def test_doctor_finds_what_guests_need() -> None:
    said = run("longhaul", "doctor").splitlines()
    assert {"sandbox: ready", "mininet --in guest: ready"} <= set(said)


@pytest.mark.usefixtures("images")
def test_it_has_neither_compiler_nor_installer() -> None:
    for program in ("gcc", "cc", "make", "pip", "pip3", "git", "curl", "wget"):
        assert run("bash", "-c", f"command -v {program} || echo none").strip() == "none", program


def test_the_profile_allows_what_engines_allow_and_one_call_more() -> None:
    """Compared with the one that podman's package brings: what that gives a process without capabilities."""
    engines: set[str] = set()
    for rule in json.loads(_ENGINES.read_text())["syscalls"]:
        if rule["action"] == "SCMP_ACT_ALLOW" and "caps" not in rule["includes"]:
            engines |= set(rule["names"])
    ours: set[str] = set()
    numbers = set()
    for rule in json.loads(_PROFILE.read_text())["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ALLOW"
        ours |= set(rule["names"])
        if rule["names"] == ["personality"]:
            numbers.add(rule["args"][0]["value"])
    # The last was not there when that package was made.
    assert ours - engines <= {
        "personality",
        "socket",
        "cachestat",
        "fchmodat2",
        "map_shadow_stack",
        "futex_wait",
        "futex_wake",
        "futex_requeue",
    }
    assert numbers == {0, 0x40000, 0xFFFFFFFF}
    assert (
        ours & {"mount", "umount2", "unshare", "setns", "pivot_root", "clone3", "keyctl", "bpf", "perf_event_open"}
        == set()
    )
