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
_TOKEN = re.compile(rb"lh_[0-9a-f]{12}_[\w-]{43}")
# Examples in the API's reference.
_EXAMPLES = {b"lh_0123456789ab_" + b"x" * 43}
# Files in which programs keep secrets, and keys in files that are not Debian's: its libraries contain well-known keys for their own tests.
_FIND = r"find / -xdev \( -name .netrc -o -name .pgpass -o -name .npmrc -o -name pip.conf -o -name 'id_rsa*' -o -name 'id_ed25519*' -o -name 'id_ecdsa*' -o -name .git-credentials -o -name '*.key' \) -type f"
_GREP = "grep -rlsE -e '-----BEGIN [A-Z ]*PRIVATE KEY-----' /opt /etc /home /root /var /tmp || true"
_PROFILE = REPOSITORY / "playbooks" / "containers" / "seccomp.json"
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
    """Neither its history nor its layers contain a token or the configuration of the build's pip."""
    history = podman("history", "--no-trunc", "--format", "{{.CreatedBy}}", image(target)) + json.dumps(images[target])
    assert MARKER not in history
    assert not re.search(
        "password|token|secret", history.replace("--mount=type=secret,id=pip,target=/etc/pip.conf", ""), re.IGNORECASE
    )
    found = set()
    with subprocess.Popen(["podman", "save", image(target)], stdout=subprocess.PIPE) as saving:
        assert saving.stdout is not None
        before = b""
        while chunk := saving.stdout.read(2**24):
            window = before + chunk
            found |= {match[0] for match in _TOKEN.finditer(window)} - _EXAMPLES
            assert MARKER.encode() not in window
            before = window[-256:]
    assert saving.returncode == 0
    assert found == set()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.usefixtures("images")
def test_there_is_no_file_that_holds_secrets(target: str) -> None:
    for search in (_FIND, _GREP):
        assert podman("run", "--rm", "--network=none", "--user=0:0", image(target), "bash", "-c", search).split() == []


def test_it_is_of_this_version(images: Images) -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert images["runtime"]["Config"]["Labels"]["org.opencontainers.image.version"] == version


@pytest.mark.usefixtures("images")
def test_kernels_are_the_ones_that_their_folders_name() -> None:
    for version in ("6.12", "6.1"):
        manifest = json.loads(run("cat", f"/opt/longhaul/cache/kernels/current-{version}/manifest.json"))
        folder = run("readlink", f"/opt/longhaul/cache/kernels/current-{version}").strip()
        assert (manifest["version"], manifest["hash"]) == (version, folder)
        files = {f"/opt/longhaul/cache/kernels/{folder}/{file}": sha256 for file, sha256 in manifest["files"].items()}
        lines = (line.split() for line in run("sha256sum", *files).splitlines())
        assert {file: sha256 for sha256, file in lines} == files


@pytest.mark.usefixtures("images")
def test_doctor_finds_all_needs_of_guests() -> None:
    allowed = f"--security-opt=seccomp={_PROFILE}"
    output = podman("run", "--rm", "--network=none", allowed, image("runtime"), "longhaul", "doctor").splitlines()
    assert {"sandbox: ready", "mininet --in guest: ready"} <= set(output)


@pytest.mark.usefixtures("images")
def test_doctor_reports_that_an_engine_s_own_profile_is_too_narrow() -> None:
    output = run("bash", "-c", "longhaul doctor || true")
    assert "sandbox: not ready" in output
    assert "the seccomp profile playbooks/containers/seccomp.json (docs/containers.md)" in output


@pytest.mark.usefixtures("images")
def test_it_has_neither_compiler_nor_installer() -> None:
    assert run("bash", "-c", "command -v gcc cc make pip pip3 git curl wget || echo none").strip() == "none"


def test_the_profile_allows_what_engines_allow_and_one_call_more() -> None:
    """Compared with the profile of podman's package for a process without capabilities."""
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
    # The last call did not exist when that package was made.
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
