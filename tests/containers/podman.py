"""podman, and the images that it builds from the Dockerfile; downloads use the machine's own network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.system.settings import load_settings

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "dashboards/web/dist"
BASE = "debian:bookworm-slim"
TARGETS = ("runtime", "postgres", "prometheus")
# No package index needs it; it must be in no image.
MARKER = f"longhaul-secret-{os.urandom(8).hex()}"

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Files that the slim images of Debian leave out.
_LEFT_OUT = ("man", "doc", "info", "locale", "groff", "lintian", "linda")


def state() -> Path:
    """Where images are kept between tests, and what they were made of."""
    named = os.environ.get("CONTAINERS_STATE")
    if not named:
        pytest.fail("these tests need mounts and a network of their own: run `make test-containers`", pytrace=False)
    return Path(named)


def start(*words: str, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; if it fails and `check` is set, fail with the end of its output."""
    done = subprocess.run(list(words), capture_output=True, text=True, check=False, **more)
    if check and done.returncode:
        pytest.fail(
            f"`{' '.join(words)[:300]}` ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}",
            pytrace=False,
        )
    return done


def podman(*words: str, check: bool = True) -> str:
    """podman's output."""
    return start("podman", *words, check=check).stdout


def outside(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """A finished command on the machine's own network."""
    return start("nsenter", f"--net={os.environ['CONTAINERS_OUTSIDE']}", "--", *words, **more)


def inspect(kind: str, name: str) -> dict[str, Any]:
    """podman's description of an image or a container."""
    found: dict[str, Any] = json.loads(podman(kind, "inspect", name))[0]
    return found


def image(target: str) -> str:
    """The name of an image of these tests."""
    return f"longhaul-test-{target}"


def build(target: str) -> None:
    """Build an image of the Dockerfile, with the page of `make web` and with the kernels of this machine's cache where they match."""
    certificates = f"{_CERTIFICATES}:{_CERTIFICATES}:ro"
    secret = state() / "pip.conf"
    secret.write_text(_pip_configuration())
    limits = [f"--ulimit={limit}" for limit in os.environ["CONTAINERS_LIMITS"].split()]
    fetching = ("--isolation=chroot", "--network=host", "--volume", certificates, "--secret", f"id=pip,src={secret}")
    kernels = ("--build-context", f"kernels={load_settings().cache / 'kernels'}/")
    page = ("--build-context", f"built-page={PAGE}/")
    words = ("podman", "build", "--format=docker", "--layers", *fetching, *limits, *kernels, *page, "--target", target)
    outside(*words, "--tag", image(target), ".", cwd=REPOSITORY)
    secret.unlink()


def make_base() -> None:
    """Build Debian's slim image from its packages, so that no registry and no third-party image is needed."""
    if not start("podman", "image", "exists", BASE, check=False).returncode:
        return
    if shutil.which("mmdebstrap") is None:
        pytest.fail("there is no mmdebstrap: run `./setup.sh containers`", pytrace=False)
    archive = state() / "bookworm.tar"
    sources = [Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")]
    (found, *_) = (str(one) for one in sources if one.is_file())
    slim = [f"--dpkgopt=path-exclude=/usr/share/{one}/*" for one in _LEFT_OUT]
    hooks = ['--customize-hook=rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin']
    words = ["mmdebstrap", "--variant=minbase", "--include=ca-certificates", *slim, *hooks]
    outside(*words, "bookworm", str(archive), found)
    podman("import", str(archive), BASE)
    archive.unlink()


def _pip_configuration() -> str:
    """The configuration of this machine's pip, and a secret."""
    listed = start(sys.executable, "-m", "pip", "config", "list").stdout.splitlines()
    known = dict(line.split("=", 1) for line in listed if "=" in line)
    # Folders of this machine are not in a container.
    found = {key.split(".")[-1]: value.strip("'\"") for key, value in known.items() if "find-links" not in key}
    return "\n".join(["[global]", f"# {MARKER}", *(f"{key} = {value}" for key, value in found.items()), ""])
