"""The profile `minimal`: an older version's volume in a newer image, and its backup restored into the profile `lab`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.containers.conftest import measured
from tests.containers.lab import IMAGES, ROOT, Lab
from tests.containers.podman import image, podman, start

NEWER = "longhaul-test-newer"
_OLD_RUN = "a" * 20
# A database of the first version that had one, with a run in it.
_OLD_RECORD = f"""
import longhaul.orchestrator.database
from alembic import command
from alembic.config import Config
from pathlib import Path
from sqlalchemy import create_engine, text
config = Config()
config.set_main_option("script_location", str(Path(longhaul.orchestrator.database.__file__).parent / "migrations"))
with create_engine("sqlite:////var/longhaul/home/catalogue.sqlite").begin() as connection:
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    connection.execute(text(
        "INSERT INTO runs (id, experiment, status, backend, kernel, seed, created_at, virtual_s, wall_s, trace_sha256, point, document)"
        " VALUES ('{_OLD_RUN}', 'old', 'done', 'sandbox', '6.12.1', 1, '2026-01-01T00:00:00.000+00:00', 3.0, 0.1, 't', '{{}}', '{{}}')"
    ))
"""


@pytest.fixture(scope="module")
def old(images: dict[str, dict[str, Any]]) -> Iterator[Lab]:
    """A single lab whose volume comes from an older version."""
    lab = Lab("minimal", "minimal")
    lab.down(volumes=True)
    volume = f"{lab.project}_minimal"
    podman("volume", "create", volume)
    where = ("--network=none", "--volume", f"{volume}:/var/longhaul/home")
    podman("run", "--rm", *where, image("runtime"), "python", "-c", _OLD_RECORD)
    try:
        yield lab
    finally:
        lab.down(volumes=True)


@pytest.fixture(scope="module")
def restored(images: dict[str, dict[str, Any]]) -> Iterator[Lab]:
    lab = Lab("lab", "api", name="restored")
    lab.down(volumes=True)
    try:
        yield lab
    finally:
        lab.down(volumes=True)


def runs(lab: Lab) -> set[str]:
    with lab.client() as client:
        return {row["id"] for row in client.get(f"{ROOT}/runs").json()["items"]}


def test_an_older_volume_is_upgraded_and_survives_the_next_image(old: Lab) -> None:
    begun_s = time.monotonic()
    old.up("minimal")
    old.read_token()
    old.ready()
    document = old.run_experiment(shipped="quick")
    measured(f"profile minimal, first result after {time.monotonic() - begun_s:.1f} s")
    assert runs(old) == {_OLD_RUN, document["run"]}
    old.down(volumes=False)

    start("podman", "build", "--tag", NEWER, "-", input=f"FROM {image('runtime')}\nLABEL newer=yes\n")
    newer = Lab("minimal", "minimal", {**IMAGES, "LONGHAUL_IMAGE": NEWER}, token=old.token)
    newer.up("minimal")
    newer.ready()
    assert "shown only once" not in newer.log()
    assert (
        podman("container", "inspect", "--format", "{{.ImageName}}", newer.container("minimal"))
        .strip()
        .endswith(f"{NEWER}:latest")
    )
    assert runs(newer) == {_OLD_RUN, document["run"]}
    # Answered by the kept run.
    assert newer.run_experiment(shipped="quick")["run"] == document["run"]


def test_a_backup_becomes_a_lab_with_postgresql(old: Lab, restored: Lab, tmp_path: Path) -> None:
    before = runs(old)
    old.inside("minimal", "longhaul", "backup", "/var/longhaul/home/lab.tar")
    podman("cp", f"{old.container('minimal')}:/var/longhaul/home/lab.tar", str(tmp_path / "lab.tar"))
    (tmp_path / "lab.tar").chmod(0o644)
    tmp_path.chmod(0o755)
    old.down(volumes=False)

    restored.up("postgres")
    restored.wait_healthy("postgres")
    output = restored.compose(
        "run",
        "--rm",
        "--no-deps",
        "-T",
        "-v",
        f"{tmp_path / 'lab.tar'}:/lab.tar:ro",
        "api",
        "longhaul",
        "restore",
        "/lab.tar",
    )
    assert "runs restored into /var/longhaul/home" in output
    restored.up("postgres", "scheduler", "prometheus", "worker", "api")
    # Tokens are part of the database.
    restored.token = old.token
    restored.ready()
    assert runs(restored) == before
    assert httpx.get(f"{ROOT}/runs").status_code == 401
    assert restored.run_experiment(shipped="quick")["run"] in before
