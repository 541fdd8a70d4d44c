"""Kernels sent to the service: who may send them, what is refused, and that a refusal leaves nothing. No kernel is compiled here; tests/kernels does."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from longhaul.orchestrator.kernels import named_kernels
from longhaul.orchestrator.kernels.named_kernels import Source
from longhaul.orchestrator.kernels.sent_kernels import SentBuild
from longhaul.orchestrator.system.errors import BackendError, LonghaulError, NotAllowed, NotFound, PlanError
from longhaul.orchestrator.system.settings import load_settings
from tests.api.hostile import PROBLEM
from tests.support.command import longhaul
from tests.support.service import ROOT, SCOPES, Service, served
from tests.support.small_linux import FILES, write_linux

KERNELS, ARCHIVES = f"{ROOT}/kernels", f"{ROOT}/kernel-archives"
OCTETS = {"Content-Type": "application/octet-stream"}
Member = tuple[str, bytes, str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with an empty cache that takes kernels, small ones."""
    folder = tmp_path_factory.mktemp("service")
    limits = {"LONGHAUL_KERNEL_UPLOAD_MB": "2", "LONGHAUL_KERNEL_BUILD_MB": "64", "LONGHAUL_MOST_KERNELS": "3"}
    with served(folder / "home", 0, LONGHAUL_USER_CODE="on", LONGHAUL_CACHE=str(folder / "cache"), **limits) as running:
        yield running


@pytest.fixture
def admin(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


@pytest.fixture(autouse=True)
def nothing_is_left(service: Service) -> Iterator[None]:
    """No archive, scratch folder or kernel remains."""
    yield
    cache = Path(service.settings["LONGHAUL_CACHE"])
    assert [*cache.glob("sources/.new-*")] == []
    assert [*cache.glob("kernels/sent/.archives/*")] == []
    assert [*cache.glob("kernels/sent-builds/*")] == []
    assert [*cache.glob("kernels/named/*/kernel.json")] in ([], [cache / "kernels/named/local/kernel.json"])


def archive(*more: Member, files: dict[str, str] | None = None, mode: str = "w:xz") -> bytes:
    """A small Linux in an archive, and more members: (name, type, target or content)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]  # a mode
        for name, text in (FILES if files is None else files).items():
            _add(tar, f"linux-6.12/{name}", tarfile.REGTYPE, text)
        for one in more:
            _add(tar, *one)
    return packed.getvalue()


def _add(tar: tarfile.TarFile, name: str, kind: bytes, content: str) -> None:
    member = tarfile.TarInfo(name)
    member.type = kind
    if kind == tarfile.REGTYPE:
        member.size = len(content.encode())
        tar.addfile(member, io.BytesIO(content.encode()))
    else:
        member.linkname = content
        tar.addfile(member)


def send(client: httpx.Client, content: bytes, **query: str) -> httpx.Response:
    return client.post(ARCHIVES, content=content, headers=OCTETS, params=query)


def refused(answer: httpx.Response, status: int, sentence: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    assert sentence in answer.json()["detail"], answer.text
    assert "\n" not in answer.json()["detail"]


@pytest.mark.parametrize("mode", ["w:xz", "w:gz", "w:bz2", "w:"])
def test_an_archive_is_kept_under_its_hash(mode: str, admin: httpx.Client) -> None:
    content = archive(("linux-6.12/net/link", tarfile.SYMTYPE, "ipv4/tcp_reno.c"), mode=mode)
    sha256 = hashlib.sha256(content).hexdigest()
    made = send(admin, content, name="linux.tar", sha256=sha256)
    assert made.status_code == 201, made.text
    assert made.json() == {"sha256": sha256, "release": "6.12.34-rc1", "bytes": len(content)}
    refused(send(admin, content, sha256="0" * 64), 422, f"its SHA-256 is {sha256}")


@pytest.mark.parametrize(
    ("member", "sentence"),
    [
        (("linux-6.12/../../etc/escaped", tarfile.REGTYPE, "x"), "leads out of the tree"),
        (("../escaped", tarfile.REGTYPE, "x"), "leads out of the tree"),
        (("/tmp/escaped", tarfile.REGTYPE, "x"), "has an absolute name"),
        (("linux-6.12/out", tarfile.SYMTYPE, "/etc/passwd"), "leads to /etc/passwd, outside the tree"),
        (("linux-6.12/net/out", tarfile.SYMTYPE, "../../x"), "leads to ../../x, outside the tree"),
        (("linux-6.12/net/out", tarfile.SYMTYPE, "a/../../x"), "leads to a/../../x, outside the tree"),
        (("linux-6.12/hard", tarfile.LNKTYPE, "linux-6.12/Makefile"), "is a hard link"),
        (("linux-6.12/null", tarfile.CHRTYPE, ""), "is neither a file, a folder nor a link"),
        (("linux-6.12/disk", tarfile.BLKTYPE, ""), "is neither a file, a folder nor a link"),
        (("linux-6.12/pipe", tarfile.FIFOTYPE, ""), "is neither a file, a folder nor a link"),
        (("linux-6.12/.git/config", tarfile.REGTYPE, "[core]"), "is no file of a source"),
        (("linux-6.12/Makefile", tarfile.REGTYPE, "x"), "is in it twice"),
        (("linux-6.12/Makefile/x", tarfile.REGTYPE, "x"), "is below a file or a link"),
        (("linux-6.12/net", tarfile.SYMTYPE, "arch"), "others are below it"),
        (("linux-6.12/\x1b[31m\n", tarfile.CHRTYPE, ""), "\\x1b[31m\\n is neither"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_member_that_could_escape_is_refused(member: Any, sentence: str, admin: httpx.Client) -> None:
    refused(send(admin, archive(member)), 422, sentence)
    assert not Path("/tmp/escaped").exists()


def test_nothing_is_written_through_a_link(admin: httpx.Client, tmp_path: Path) -> None:
    inside = ("linux-6.12/a", tarfile.SYMTYPE, "net")
    refused(send(admin, archive(inside, ("linux-6.12/a/x", tarfile.REGTYPE, "x"))), 422, "is below a file or a link")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(b"", "it is no tar archive", id="nothing"),
        pytest.param(b"x" * 100_000, "it is no tar archive", id="text"),
        pytest.param(b"PK\x03\x04" + bytes(1000), "it is no tar archive", id="zip"),
        pytest.param(archive()[:-200], "Unexpected end of input", id="packed-cut"),
        pytest.param(archive(mode="w:")[:2000], "it ends too early", id="cut"),
        pytest.param(gzip.compress(b"x" * 10_000), "it is damaged", id="packed-text"),
        pytest.param(
            archive(files={"readme": "x"}), "it has no Makefile, Kconfig or arch/um/Kconfig", id="other-files"
        ),
        pytest.param(archive(files={}), "it has no files", id="no-files"),
        pytest.param(
            gzip.compress(archive(mode="w:") + bytes(100 << 20)), "more follows after its end", id="more-after-its-end"
        ),
    ],
)
def test_what_is_no_archive_of_linux_is_refused(content: bytes, sentence: str, admin: httpx.Client) -> None:
    refused(send(admin, content), 422, sentence)


def test_an_archive_above_a_limit_is_413(service: Service, admin: httpx.Client, tmp_path: Path) -> None:
    refused(send(admin, archive(("linux-6.12/big", tarfile.REGTYPE, "x" * (70 << 20)))), 413, "more than 64 MiB")
    noise = os.urandom(3 << 20)
    refused(send(admin, noise), 413, "2048 KiB")

    def pieces() -> Iterator[bytes]:
        for begin in range(0, len(noise), 100_000):
            yield noise[begin : begin + 100_000]

    answer = admin.post(ARCHIVES, content=pieces(), headers=OCTETS)
    assert answer.status_code == 413, answer.text
    large = tmp_path / "large.tar"
    large.write_bytes(noise)
    with service.programs_client("admin") as client, pytest.raises(LonghaulError, match="2048 KiB"):
        client.send_kernel_archive(large)


def test_another_media_type_or_encoding_is_415(admin: httpx.Client) -> None:
    refused(admin.post(ARCHIVES, json={}), 415, "send application/octet-stream")
    packed = admin.post(ARCHIVES, content=archive(), headers={**OCTETS, "Content-Encoding": "gzip"})
    refused(packed, 415, "the content encoding gzip is not supported")


def test_a_disk_without_space_is_507(tmp_path: Path) -> None:
    with (
        served(
            tmp_path / "home",
            LONGHAUL_USER_CODE="on",
            LONGHAUL_CACHE=str(tmp_path),
            LONGHAUL_KERNEL_BUILD_MB="999999999",
        ) as full,
        full.client() as client,
    ):
        refused(send(client, archive()), 507, "999999999 MiB are needed (LONGHAUL_KERNEL_BUILD_MB)")


PATCH = """--- a/net/ipv4/tcp_cubic.c
+++ b/net/ipv4/tcp_cubic.c
@@ -4,3 +4,3 @@
 four
-int beta = 717;
+int beta = 600;
 six
"""


@pytest.fixture
def sent(admin: httpx.Client) -> dict[str, str]:
    """A small Linux that was sent."""
    return {"name": "linux.tar.xz", "sha256": send(admin, archive()).json()["sha256"]}


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        (PATCH.replace("four", "for"), "hunk 1 of net/ipv4/tcp_cubic.c does not fit, at line 4"),
        ("no patch", "No valid patches in input"),
        (PATCH.replace("tcp_cubic.c", "tcp_none.c"), "net/ipv4/tcp_none.c"),
        (PATCH.replace("a/net/ipv4/tcp_cubic.c", "a/../../x").replace("b/net/ipv4/tcp_cubic.c", "b/../../x"), "x"),
        ("GIT binary patch\nliteral 99999999999\n", "it changes binary files"),
        ("diff --git a/Makefile b/x\nsimilarity index 100%\ncopy from Makefile\ncopy to x\n", "it copies files"),
        (
            (
                "diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n@@ -0,0 +1 @@\n+/etc/passwd\n"
                "\\ No newline at end of file\n"
            ),
            "the link out leads to /etc/passwd, outside the tree",
        ),
        (
            (
                "diff --git a/sub b/sub\nnew file mode 160000\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n"
                f"+Subproject commit {'1' * 40}\n"
            ),
            "sub is neither a file nor a link",
        ),
        # It applies, but what the sandbox changes is not there.
        (PATCH, "applying the patch"),
    ],
)
def test_a_patch_that_does_not_apply_is_422_and_leaves_nothing(
    patch: str, sentence: str, sent: dict[str, str], admin: httpx.Client
) -> None:
    asked = {"name": "mine", "archive": sent, "patches": [{"name": "0001-own.patch", "text": patch}]}
    refused(admin.post(KERNELS, json=asked), 422, sentence)
    refused(admin.get(f"{KERNELS}/mine"), 404, "no kernel has this name")
    assert "mine" not in [row["version"] for row in admin.get(KERNELS).json()]


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"archive": None, "base": "6.13"}, 422, "kernel.lock has no such version; known: 6.12"),
        ({"archive": None}, 422, "neither is given"),
        ({"base": "6.12"}, 422, "both are given"),
        ({"archive": {"name": "x.tar", "sha256": "1" * 64}}, 422, "no archive with the SHA-256 1111"),
        ({"name": "local"}, 409, "there is a kernel with this name"),
        ({"name": "6.12"}, 422, "body.name"),
        ({"name": "../x"}, 422, "body.name"),
        ({"config": ["all: ; rm -rf /"]}, 422, "that is no line of a kernel's configuration"),
        ({"patches": [{"name": "../x", "text": PATCH}]}, 422, "body.patches.0.name"),
        ({"patches": [{"name": "x", "text": "x" * (17 << 20)}]}, 413, "16384 KiB"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else None,
)
def test_a_kernel_that_is_refused(
    change: dict[str, Any],
    status: int,
    sentence: str,
    sent: dict[str, str],
    service: Service,
    admin: httpx.Client,
    tmp_path: Path,
) -> None:
    settings = replace(load_settings(), cache=Path(service.settings["LONGHAUL_CACHE"]))
    if "local" not in named_kernels.names(settings):
        named_kernels.add(settings, "local", Source("folder", str(write_linux(tmp_path / "linux"))))
    refused(admin.post(KERNELS, json={"name": "mine", "archive": sent} | change), status, sentence)


def test_only_sent_kernels_are_deleted(service: Service, admin: httpx.Client, tmp_path: Path) -> None:
    settings = replace(load_settings(), cache=Path(service.settings["LONGHAUL_CACHE"]))
    if "local" not in named_kernels.names(settings):
        named_kernels.add(settings, "local", Source("folder", str(write_linux(tmp_path / "linux"))))
    refused(admin.delete(f"{KERNELS}/local"), 409, "it was added on the machine of the service")
    refused(admin.delete(f"{KERNELS}/6.12"), 409, "it is a version of kernel.lock")
    refused(admin.delete(f"{KERNELS}/none"), 404, "no kernel was added with this name")
    local = admin.get(f"{KERNELS}/local").json()
    assert (local["origin"], local["source"]["kind"], local["build"]) == ("machine", "folder", None)
    assert admin.get(f"{KERNELS}/6.12").json()["origin"] == "kernel.lock"


def test_the_error_of_a_build_names_no_folder_of_the_machine(
    sent: dict[str, str], service: Service, admin: httpx.Client
) -> None:
    cache = Path(service.settings["LONGHAUL_CACHE"])
    source = {"kind": "archive", "place": sent["name"], "revision": "", "commit": "", "sha256": sent["sha256"]}
    parts = {
        "name": "broken",
        "source": source,
        "release": "6.12.34-rc1",
        "tree": "1" * 40,
        "patches": [],
        "config": [],
    }
    error = BackendError("laying out the kernel's sources in", f"{cache}/kernels", "Input/output error", "see the disk")
    record = SentBuild("1", "broken", "first", "failed", "2026-01-01T00:00:00+00:00", parts, error=error.as_dict())
    file = cache / "kernels/sent/broken.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(record)))
    for kernel in (admin.get(f"{KERNELS}/broken").json(), admin.get(KERNELS).json()[-1]):
        assert kernel["build"]["error"]["subject"] == "LONGHAUL_CACHE/kernels"
    assert admin.delete(f"{KERNELS}/broken").status_code == 204
    assert admin.get(f"{KERNELS}/broken").status_code == 404


@pytest.mark.parametrize("scope", SCOPES[:-1])
def test_only_admins_send_and_delete_kernels(scope: str, service: Service) -> None:
    with service.client(scope) as client:
        for answer in (
            client.post(KERNELS, json={"name": "mine", "base": "6.12"}),
            send(client, archive()),
            client.delete(f"{KERNELS}/mine"),
        ):
            refused(answer, 403, "this needs the scope admin")
        assert client.get(KERNELS).status_code == 200


def test_a_service_takes_kernels_only_if_its_operator_allows_it(tmp_path: Path) -> None:
    with served(tmp_path / "home", LONGHAUL_CACHE=str(tmp_path / "cache")) as closed:
        with closed.client() as client:
            refused(send(client, archive()), 403, "LONGHAUL_USER_CODE=on")
        with closed.programs_client("admin") as program, pytest.raises(NotAllowed, match="LONGHAUL_USER_CODE=on"):
            program.send_kernel("mine", base="6.12")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tree", "."], "--tree is for kernels of this machine only"),
        (["--base", "6.12", "--replace"], "--replace is for kernels of this machine only"),
        ([], "no source is given"),
        (["--base", "6.12", "--sha256", "0" * 64], "--sha256 is given without --archive"),
        (
            ["--base", "6.12", "--patch", "/nowhere.patch"],
            "sending the patch /nowhere.patch: No such file or directory",
        ),
        (["--archive", "/nowhere.tar"], "sending the archive /nowhere.tar: No such file or directory"),
        (["--base", "6.13"], "kernel.lock has no such version"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_command_line_refuses_in_one_sentence(
    words: list[str], sentence: str, service: Service, tmp_path: Path
) -> None:
    done = longhaul("kernel", "add", "mine", *words, home=tmp_path, **service.command("admin"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert sentence in done.stderr


def test_the_client_sends_files_and_names_the_first_mistake(service: Service, tmp_path: Path) -> None:
    packed, patch = tmp_path / "linux.tar.xz", tmp_path / "0001.patch"
    packed.write_bytes(archive())
    patch.write_text(PATCH.replace("four", "for"))
    with service.programs_client("admin") as client:
        with pytest.raises(PlanError, match=r"0001.patch: hunk 1 of net/ipv4/tcp_cubic.c does not fit"):
            client.send_kernel("mine", archive=packed, patches=[patch])
        with pytest.raises(PlanError, match="its SHA-256 is"):
            client.send_kernel("mine", archive=packed, sha256="0" * 64)
        with pytest.raises(PlanError, match="adding the kernel Mine: a name has up to 40 lower-case letters"):
            client.send_kernel("Mine", base="6.12")
        with pytest.raises(PlanError, match="a guest without time travel runs in real time"):
            client.send_kernel("mine", archive=packed, config=["CONFIG_UML_TIME_TRAVEL_SUPPORT=n"])
        patch.write_bytes(b"\n")
        with pytest.raises(PlanError, match=r"0001\.patch: the file is empty; name a file of a patch"):
            client.send_kernel("mine", archive=packed, patches=[patch])
        patch.write_bytes(b"\xff")
        with pytest.raises(PlanError, match="it is not UTF-8 text"):
            client.send_kernel("mine", archive=packed, patches=[patch])
        with pytest.raises(NotFound):
            client.delete_kernel("mine")
        assert "6.12" in [kernel.version for kernel in client.kernels()]
        assert client.kernel("6.12").parts == []
