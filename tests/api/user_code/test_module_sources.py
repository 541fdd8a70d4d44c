"""Sources of user-supplied modules over REST: folders and archives, texts, builds, differences, trials, and who may do it."""

from __future__ import annotations

import io
import secrets
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.own_controls import reno_source
from tests.support.service import Service, served

# No cache contains it.
MORE = f"/* {secrets.token_hex(8)} */\n"
FILES = {
    "Makefile": "obj-m := gentle.o broken.o\nccflags-y += -DFLOOR=4\n",
    "src/README.txt": "not a source\n",
    "gentle.c": reno_source("gentle", more=MORE).replace("2U)", "(u32)FLOOR)"),
    "broken.c": reno_source("broken", more="int x = missing_word;\n"),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("service"), LONGHAUL_USER_CODE="on") as running:
        yield running


def ask(service: Service, method: str, path: str, scope: str = "admin", **sent: Any) -> httpx.Response:
    with service.client(scope) as client:
        return client.request(
            method, f"/api/v1{path if path.startswith('/module-') else f'/module-sources{path}'}", **sent
        )


@pytest.fixture(scope="module")
def kept(service: Service) -> dict[str, Any]:
    answer = ask(service, "POST", "", json={"files": FILES})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/api/v1/module-sources/{found['source']}"
    return found


def test_a_folder_is_kept_without_what_no_build_reads(service: Service, kept: dict[str, Any]) -> None:
    assert kept["controls"] == ["broken", "gentle"]
    assert kept["files"] == ["Makefile", "broken.c", "gentle.c"]
    read = ask(service, "GET", f"/{kept['source']}").json()
    assert read["texts"]["gentle.c"] == FILES["gentle.c"]
    assert kept in ask(service, "GET", "").json()


def test_each_module_is_built_by_itself_and_one_that_fails_says_why(service: Service, kept: dict[str, Any]) -> None:
    modules = {one["module"]: one for one in ask(service, "GET", f"/{kept['source']}/builds/6.12", timeout=120).json()}
    assert modules["gentle"]["built"] and modules["gentle"]["controls"] == ["gentle"]
    assert not modules["broken"]["built"]
    line = FILES["broken.c"].split("missing_word")[0].count("\n") + 1
    assert modules["broken"]["problem"].startswith(f"broken.c:{line}: it uses missing_word")
    assert "missing_word" in modules["broken"]["log"]


def test_an_experiment_and_a_trial_use_the_control_that_is_built(service: Service, kept: dict[str, Any]) -> None:
    (trial,) = ask(service, "POST", f"/{kept['source']}/trials/6.12", timeout=120).json()
    assert trial["cc"] == "gentle" and trial["experiment"].startswith("/api/v1/experiments/")
    written = {
        "experiment": "gentle", "modules": [kept["reference"]], "path": {"bandwidth": "5 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "gentle"}], "duration": "2 s",
    }  # fmt: skip
    with service.programs_client("admin") as client:
        done = client.wait(client.submit(written).id)
    assert done.status == "done"


def test_the_client_sends_builds_and_tries(service: Service, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "Kind.c").write_text(reno_source("kind", more=MORE))
    with service.programs_client("admin") as client:
        sent = client.send_module_source(str(tmp_path / "mine"))
        assert sent.controls == ["kind"] and sent in client.module_sources()
        (build,) = client.build_module_source(sent.source, "6.12")
        assert (build.module, build.controls, build.built) == ("Kind", ["kind"], True)
        (trial,) = client.try_module_source(sent.source, "6.12")
        assert client.wait(trial.experiment.rpartition("/")[2]).status == "done"


def test_two_versions_are_compared(service: Service, kept: dict[str, Any]) -> None:
    files = FILES | {"gentle.c": FILES["gentle.c"].replace("= 512;", "= 700;"), "more.h": "#define MORE 1\n"}
    other = ask(service, "POST", "", json={"files": files}).json()
    text = ask(service, "GET", f"/{kept['source']}/diff/{other['source']}").text
    assert "--- a/gentle.c\n+++ b/gentle.c\n" in text and "+#define MORE 1\n" in text
    assert "-static int keep __read_mostly = 512;\n+static int keep __read_mostly = 700;\n" in text


def archive(members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as packed:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    return file.getvalue()


def send(service: Service, content: bytes, name: str = "mine.tar.gz", **headers: str) -> httpx.Response:
    sent = {"content-type": "application/octet-stream", **headers}
    return ask(service, "POST", f"/module-archives?name={name}", content=content, headers=sent)


def test_an_archive_is_the_same_source_as_its_folder(service: Service, kept: dict[str, Any]) -> None:
    answer = send(service, archive({f"mine-1.0/{name}": text for name, text in FILES.items()}))
    assert answer.status_code == 201, answer.text
    assert answer.json()["source"] == kept["source"]


@pytest.mark.parametrize(
    ("content", "headers", "status", "sentence"),
    [
        (archive({"../mine.c": FILES["gentle.c"]}), {}, 422, "within its folder"),
        (archive({"/mine.c": FILES["gentle.c"]}), {}, 422, "within its folder"),
        (archive({"mine.c": "int nothing;\n"}), {}, 422, "tcp_register_congestion_control"),
        (b"not an archive", {}, 422, "an archive that can be read"),
        (archive({"mine.c": FILES["gentle.c"]})[:200], {}, 422, "an archive that can be read"),
        (b"x", {"content-type": "text/plain"}, 415, "send application/octet-stream"),
        (bytes(9 * 2**20), {}, 413, "at most 8192 KiB"),
    ],
    ids=["outside", "absolute", "no control", "no archive", "cut off", "another type", "too large"],
)
def test_a_wrong_archive_is_refused(
    service: Service, content: bytes, headers: dict[str, str], status: int, sentence: str
) -> None:
    answer = send(service, content, **headers)
    assert answer.status_code == status, answer.text
    assert sentence in answer.json()["detail"]


def test_only_admins_use_it_and_only_where_user_code_is_allowed(
    service: Service, kept: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    for method, path in (
        ("GET", ""),
        ("GET", f"/{kept['source']}"),
        ("GET", f"/{kept['source']}/builds/6.12"),
        ("POST", ""),
    ):
        assert ask(service, method, path, "run", json={"files": FILES} if method == "POST" else None).status_code == 403
    assert ask(service, "GET", f"/{'0' * 32}").status_code == 404
    assert ask(service, "GET", f"/{kept['source']}/builds/9.9").status_code == 404
    with served(tmp_path_factory.mktemp("closed")) as closed:
        assert ask(closed, "POST", "", json={"files": FILES}).status_code == 403
        assert ask(closed, "GET", f"/{kept['source']}/builds/6.12").status_code == 403
