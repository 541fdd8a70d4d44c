"""A damaged run on the service: a problem that names the file, never other numbers; made again by whoever submits its experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.system.errors import RunDamaged
from tests.api.hostile import PROBLEM
from tests.support.damage import flip
from tests.support.service import ROOT, Service

ASKED = {"shipped": "quick", "seed": 4714}


def folder_of(service: Service, run: str) -> Path:
    key = run.rpartition("/")[2]
    return service.home / "runs" / key[:2] / key


def test_a_damaged_run_is_a_problem_and_is_made_again(service: Service) -> None:
    ended = service.wait(service.submit(ASKED)["id"])
    (run,) = ended["runs"]
    folder = folder_of(service, run)
    with service.client("run") as client, service.programs_client() as programs:
        assert client.put(f"{run}/pin").status_code == 204
        before = client.get(f"{run}/series", params={"measure": "cwnd", "flow": "app", "points": 77}).json()
        assert client.get(f"{run}/verification").json()["state"] == "whole"
        flip(folder / "acks.parquet", 8 * 5000)
        asked: tuple[tuple[str, dict[str, Any]], ...] = (
            ("series", {"measure": "cwnd", "flow": "app", "points": 78}),
            ("files/acks.parquet", {}),
            ("files/acks.csv", {}),
        )
        for place, params in asked:
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
        # A flipped bit is seen by reading alone; what is gone or cut by whoever reads about the run, an earlier answer or not.
        known = client.get(run)
        assert known.json()["damage"] is None
        (folder / "drops.parquet").write_bytes((folder / "drops.parquet").read_bytes()[:-9])
        seen = client.get(run, headers={"If-None-Match": known.headers["etag"]})
        assert (seen.status_code, "drops.parquet is damaged" in seen.json()["damage"]) == (200, True)
        assert "damage" not in client.get(f"{ROOT}/runs").json()["items"][0]
        (folder / "drops.parquet").unlink()
        assert "drops.parquet is damaged" in client.get(run).json()["damage"]
        # What is gone or of another length is seen where somebody submits it again, and so is the manifest.
        (folder / "manifest.json").write_text("[]")
        assert "manifest.json is damaged" in client.get(run).json()["damage"]
        again = service.wait(service.submit(ASKED)["id"])
        assert (again["runs"], again["progress"]["cached"], again["status"]) == ([run], 0, "done")
        assert client.get(f"{run}/verification").json()["state"] == "whole"
        mended = client.get(run).json()
        assert (mended["pinned"], mended["damage"]) == (True, None)
        after = client.get(f"{run}/series", params={"measure": "cwnd", "flow": "app", "points": 79}).json()
        assert after["t_s"][-1] == before["t_s"][-1]
        assert client.get(f"{ROOT}/runs/{'0' * 20}/verification").status_code == 404
        assert client.delete(f"{run}/pin").status_code == 204
