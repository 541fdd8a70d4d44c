"""flent's data file of a run over REST: listed, downloaded, and the same as the command line exports."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import httpx

from longhaul.client import Client
from tests.support.command import longhaul
from tests.support.service import ROOT, Service

NAME = "run.flent.gz"


def test_it_is_what_the_command_line_exports(service: Service, admin: httpx.Client, tmp_path: Path) -> None:
    with Client(service.url, service.tokens["read"]) as client:
        assert NAME in client.files(service.run)
        downloaded = client.download(service.run, NAME, tmp_path).read_bytes()
    metadata = json.loads(gzip.decompress(downloaded))["metadata"]
    assert (metadata["NAME"], metadata["LONGHAUL"]["RUN"]) == ("tcp_nup", service.run)
    done = longhaul("export", service.run, "--to", "flent", "-o", str(tmp_path / "out"), home=service.home)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).read_bytes() == downloaded
    answer = admin.head(f"{ROOT}/runs/{service.run}/files/{NAME}")
    assert (answer.headers["content-type"], int(answer.headers["content-length"])) == (
        "application/gzip",
        len(downloaded),
    )
    assert answer.headers["content-disposition"] == f'attachment; filename="{service.run}-{NAME}"'


def test_a_run_that_is_not_kept_has_none(admin: httpx.Client) -> None:
    assert admin.get(f"{ROOT}/runs/{'0' * 20}/files/{NAME}").status_code == 404
