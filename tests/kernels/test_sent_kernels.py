"""Kernels sent to a service: built confined, run, deleted, killed and limited. Builds begin with the build trees of this machine, if there are any."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from longhaul.orchestrator.kernels.named_kernels import archive_of
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.service import ROOT, Service, served
from tests.support.small_linux import BETA_PATCH
from tests.support.waiting import wait_for

KERNELS = f"{ROOT}/kernels"
# A whole build, on a busy machine.
_PATIENCE_S = 3600


def patch(name: str, text: str) -> dict[str, str]:
    return {"name": name, "text": text}


# Three gigabytes.
_FILL = "head -c 1G /dev/zero | tee /build/one /build/two >/build/three"


def makefile(line: str) -> dict[str, str]:
    """A patch by which the build of net/ipv4 executes a line of shell; no earlier test has built the same kernel."""
    text = (
        "--- a/net/ipv4/Makefile\n+++ b/net/ipv4/Makefile\n@@ -1,2 +1,3 @@\n # SPDX-License-Identifier: GPL-2.0\n"
        f"+$(shell {line}) # {secrets.token_hex(8)}\n #\n"
    )
    return patch("0001-makefile.patch", text)


def state(client: httpx.Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{KERNELS}/{name}").json()
    return found


def wait(client: httpx.Client, name: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The kernel when its build has reached that."""
    wait_for(lambda: reached(state(client, name)), _PATIENCE_S, lambda: state(client, name))
    return state(client, name)


def ended(kernel: dict[str, Any]) -> bool:
    return kernel["build"]["status"] in ("done", "failed")


def compiling(kernel: dict[str, Any]) -> bool:
    assert not ended(kernel), kernel
    return bool(kernel["build"]["step"].startswith("compiling"))


def left(name: str) -> list[Path]:
    """What the cache has of a kernel."""
    kernels = load_settings().cache / "kernels"
    places = [
        kernels / "named" / name,
        kernels / f"current-{name}",
        kernels / "trees" / name,
        kernels / "sent-builds" / name,
    ]
    return [place for place in places if place.exists() or place.is_symlink()]


def forget(kernel: dict[str, Any]) -> None:
    """Delete what was built, so that the next test of it builds it again, and the cache does not grow."""
    shutil.rmtree(load_settings().cache / "kernels" / kernel["hash"])


def delete_all(service: Service) -> None:
    with service.client() as client:
        for kernel in client.get(KERNELS).json():
            if kernel["version"].startswith("test-sent-"):
                client.delete(f"{KERNELS}/{kernel['version']}")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service on the cache of the machine."""
    with served(tmp_path_factory.mktemp("service") / "home", LONGHAUL_USER_CODE="on") as running:
        delete_all(running)
        yield running
        delete_all(running)


@pytest.fixture
def admin(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


def test_a_sent_kernel_is_built_confined_runs_and_is_deleted(service: Service, admin: httpx.Client) -> None:
    asked = {"name": "test-sent-patched", "base": "6.12", "patches": [patch("0001-beta.patch", BETA_PATCH)]}
    made = admin.post(KERNELS, json=asked)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"{KERNELS}/test-sent-patched"
    assert (made.json()["built"], made.json()["build"]["by"]) == (False, "first")
    assert admin.post(KERNELS, json=asked).status_code == 409
    kernel = wait(admin, "test-sent-patched", ended)
    assert kernel["build"]["status"] == "done", kernel
    assert (kernel["built"], kernel["origin"], kernel["source"]["kind"]) == (True, "admin", "version")
    assert [one["name"] for one in kernel["patches"]] == ["0001-beta.patch"]
    runs = {}
    for name in ("6.12", "test-sent-patched"):
        done = service.wait(service.submit({"shipped": "quick", "set": [f'kernel="{name}"', "expect=[]"]})["id"])
        assert done["status"] == "done", done
        runs[name] = admin.get(done["runs"][0]).json()["document"]
    queues = {name: document["path"]["queue_packets"]["mean"] for name, document in runs.items()}
    assert queues["test-sent-patched"] < 0.95 * queues["6.12"]
    assert runs["test-sent-patched"]["kernel_parts"]["patches"][0]["name"] == "0001-beta.patch"
    assert admin.delete(f"{KERNELS}/test-sent-patched").status_code == 204
    assert admin.get(f"{KERNELS}/test-sent-patched").status_code == 404
    assert left("test-sent-patched") == []
    again = longhaul("rerun", "--original", runs["test-sent-patched"]["run"], home=service.home)
    assert (again.returncode, "identical" in again.stdout) == (0, True), again.stdout + again.stderr
    forget(kernel)


def test_a_build_sees_and_writes_nothing_of_the_machine(service: Service, admin: httpx.Client) -> None:
    secret = service.home / "secret"
    secret.write_text("static int secret;\n")
    lines = f"touch {service.home}/escaped /tmp/longhaul-escaped; cp {secret} /build/tree/net/ipv4/secret; ls {service.home} >&2"
    asked = {"name": "test-sent-hostile", "base": "6.12", "patches": [makefile(lines)]}
    assert admin.post(KERNELS, json=asked).status_code == 201
    kernel = wait(admin, "test-sent-hostile", ended)
    assert kernel["build"]["status"] == "done", kernel
    assert not (service.home / "escaped").exists()
    assert not Path("/tmp/longhaul-escaped").exists()
    assert admin.delete(f"{KERNELS}/test-sent-hostile").status_code == 204
    forget(kernel)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("mkdir -p /build/out && ln -sfn /etc/passwd /build/out/stolen", "has the link stolen, which leads out of it"),
        ("mkdir -p /build/out && mkfifo /build/out/pipe || true", "has pipe, which is no plain file"),
        ("mkdir -p /build/out && ln -f /build/own.config /build/out/twice", "has twice, which is no plain file"),
    ],
)
def test_a_result_that_leads_out_of_it_is_refused(lines: str, sentence: str, admin: httpx.Client) -> None:
    asked = {"name": "test-sent-result", "base": "6.12", "patches": [makefile(lines)]}
    assert admin.post(KERNELS, json=asked).status_code == 201
    kernel = wait(admin, "test-sent-result", ended)
    assert kernel["build"]["status"] == "failed", kernel
    assert sentence in kernel["build"]["error"]["what"]
    assert left("test-sent-result") == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"patches": [patch("broken.patch", BETA_PATCH.replace("+static", "+broken"))]}, "tcp_cubic.c"),
        ({"config": ["CONFIG_NO_SUCH_OPTION=y"]}, "Kconfig did not grant: CONFIG_NO_SUCH_OPTION=y"),
    ],
)
def test_a_build_that_fails_leaves_its_error_and_nothing_else(
    change: dict[str, Any], sentence: str, service: Service, admin: httpx.Client
) -> None:
    asked = {"name": "test-sent-broken", "base": "6.12"} | change
    made = admin.post(KERNELS, json=asked)
    assert made.status_code == 201, made.text
    kernel = wait(admin, "test-sent-broken", ended)
    assert sentence in kernel["build"]["error"]["what"], kernel
    assert kernel["config"] == change.get("config", [])
    assert left("test-sent-broken") == []
    assert "test-sent-broken" in [row["version"] for row in admin.get(KERNELS).json()]
    with service.programs_client("admin") as client, pytest.raises(PlanError):
        client.wait_for_kernel("test-sent-broken")
    refused = admin.post(f"{ROOT}/experiments", json={"shipped": "quick", "set": ['kernel="test-sent-broken"']})
    assert refused.status_code >= 400, refused.text


def test_a_killed_build_begins_again_and_a_deleted_one_ends(service: Service, admin: httpx.Client) -> None:
    # The build waits: no machine is fast enough to miss it.
    asked = {"name": "test-sent-killed", "base": "6.12", "patches": [makefile("sleep 20")]}
    assert admin.post(KERNELS, json=asked).status_code == 201
    wait(admin, "test-sent-killed", compiling)
    with service.away():
        pass
    with service.client() as client:
        again = wait(client, "test-sent-killed", compiling)
        assert again["build"]["created_at"] <= again["build"]["started_at"]
        assert client.delete(f"{KERNELS}/test-sent-killed").status_code == 204
        assert client.get(f"{KERNELS}/test-sent-killed").status_code == 404
    assert left("test-sent-killed") == []


@pytest.mark.parametrize(
    ("limit", "value", "line", "sentence"),
    [
        ("LONGHAUL_KERNEL_BUILD_S", "2", "sleep 30", "it was not done after 2 s"),
        ("LONGHAUL_KERNEL_BUILD_MB", "3000", f"{_FILL}; sleep 30", "takes more than 3000 MiB of the disk"),
    ],
)
def test_a_build_above_a_limit_ends(
    limit: str, value: str, line: str, sentence: str, service: Service, tmp_path: Path
) -> None:
    # Services with one cache build each other's kernels.
    with service.away(), served(tmp_path / "home", 0, LONGHAUL_USER_CODE="on", **{limit: value}) as limited:
        try:
            with limited.client() as client:
                asked = {"name": "test-sent-limited", "base": "6.12", "patches": [makefile(line)]}
                made = client.post(KERNELS, json=asked)
                assert made.status_code == 201, made.text
                kernel = wait(client, "test-sent-limited", ended)
            assert kernel["build"]["error"], kernel
            assert sentence in kernel["build"]["error"]["what"], kernel
            assert left("test-sent-limited") == []
        finally:
            delete_all(limited)


def test_a_source_above_the_limit_of_builds_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "home", 0, LONGHAUL_USER_CODE="on", LONGHAUL_KERNEL_BUILD_MB="100") as limited:
        with limited.client() as client:
            made = client.post(
                KERNELS, json={"name": "test-sent-limited", "base": "6.12", "patches": [makefile("true")]}
            )
        assert made.status_code == 413, made.text
        assert "its files have more than 100 MiB (LONGHAUL_KERNEL_BUILD_MB)" in made.text
        assert left("test-sent-limited") == []


def test_the_command_line_sends_an_archive(service: Service, tmp_path: Path) -> None:
    def on_service(*words: str) -> str:
        done = longhaul(*words, home=tmp_path, **service.command("admin"))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    file = tmp_path / "0001-beta.patch"
    file.write_text(BETA_PATCH)
    words = ("--archive", str(archive_of("6.12")), "--patch", str(file), "--config", "CONFIG_NET_SCH_ETF=m")
    added = on_service("kernel", "add", "test-sent-archive", *words)
    assert added.startswith("test-sent-archive: 6.12.")
    assert "patch: 0001-beta.patch (" in added
    (kernel,) = json.loads(on_service("kernel", "info", "test-sent-archive", "--json"))
    assert (kernel["source"]["kind"], kernel["config"]) == ("archive", ["CONFIG_NET_SCH_ETF=m"])
    assert "test-sent-archive: 6.12." in on_service("kernel", "info")
    on_service("kernel", "remove", "test-sent-archive")
    assert "test-sent-archive" not in on_service("kernel", "info")
    assert left("test-sent-archive") == []
    forget(kernel)
