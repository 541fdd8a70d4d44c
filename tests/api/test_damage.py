"""A damaged run on the service: a problem that names the file, never wrong numbers; a new submission of its experiment repairs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.system.errors import RunDamaged
from tests.api.hostile import PROBLEM
from tests.support.documents import flip
from tests.support.service import ROOT, Service

BODY = {"shipped": "quick", "seed": 4714}


def folder_of(service: Service, run: str) -> Path:
    key = run.rpartition("/")[2]
    return service.home / "runs" / key[:2] / key


def test_a_damaged_run_is_a_problem_and_is_made_again(service: Service) -> None:
    ended = service.wait(service.submit(BODY)["id"])
    (run,) = ended["runs"]
    folder = folder_of(service, run)
    with service.client("run") as client, service.programs_client() as programs:
        assert client.put(f"{run}/pin").status_code == 204
        before = client.get(f"{run}/series", params={"measure": "cwnd", "flow": "app", "points": 77}).json()
        assert client.get(f"{run}/verification").json()["state"] == "whole"
        flip(folder / "acks.parquet", 8 * 5000)
        requests: tuple[tuple[str, dict[str, Any]], ...] = (
            ("series", {"measure": "cwnd", "flow": "app", "points": 78}),
            ("files/acks.parquet", {}),
            ("files/acks.csv", {}),
        )
        for place, params in requests:
            answer = client.get(f"{run}/{place}", params=params)
            assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM), place
            assert answer.json()["type"] == "/problems/run-damaged"
            assert "acks.parquet is damaged" in answer.json()["what"]
        found = client.get(f"{run}/verification").json()
        assert (found["state"], found["files"]["acks.parquet"], found["files"]["links.parquet"]) == (
            "damaged",
            "damaged",
            "whole",
        )
        assert programs.verify(run.rpartition("/")[2]).state == "damaged"
        with pytest.raises(RunDamaged, match=r"acks\.parquet"):
            programs.download(run.rpartition("/")[2], "acks.parquet", folder.parent)
        # Only reading a file finds a flipped bit; a missing or truncated file shows whenever the run is read, also with If-None-Match.
        known = client.get(run)
        assert known.json()["damage"] is None
        (folder / "drops.parquet").write_bytes((folder / "drops.parquet").read_bytes()[:-9])
        seen = client.get(run, headers={"If-None-Match": known.headers["etag"]})
        assert (seen.status_code, "drops.parquet is damaged" in seen.json()["damage"]) == (200, True)
        assert "damage" not in client.get(f"{ROOT}/runs").json()["items"][0]
        (folder / "drops.parquet").unlink()
        assert "drops.parquet is damaged" in client.get(run).json()["damage"]
        # A new submission finds missing and truncated files and a damaged manifest.
        (folder / "manifest.json").write_text("[]")
        assert "manifest.json is damaged" in client.get(run).json()["damage"]
        again = service.wait(service.submit(BODY)["id"])
        assert (again["runs"], again["progress"]["cached"], again["status"]) == ([run], 0, "done")
        assert client.get(f"{run}/verification").json()["state"] == "whole"
        repaired = client.get(run).json()
        assert (repaired["pinned"], repaired["damage"]) == (True, None)
        after = client.get(f"{run}/series", params={"measure": "cwnd", "flow": "app", "points": 79}).json()
        assert after["t_s"][-1] == before["t_s"][-1]
        assert client.get(f"{ROOT}/runs/{'0' * 20}/verification").status_code == 404
        assert client.delete(f"{run}/pin").status_code == 204
