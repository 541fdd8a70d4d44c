"""Lists, the queue, figures and modules over HTTP: filters, who may delete what, and verdicts from kept runs."""

from __future__ import annotations

import csv
import io
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.client.client import Client
from longhaul.orchestrator.kernels.artefacts import hashes
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.queue import Lab
from tests.support.service import ROOT, Service, served
from tests.unit.execution.test_identities import KEY, OLD

FIGURE = f"{ROOT}/reproductions/agilesd/fig4"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A separate service, with one run of cubic and one of reno."""
    with served(tmp_path_factory.mktemp("lists") / "home") as running:
        changes = ["flows.app.cc=reno", "path.rtt=80 ms"]
        for body in ({"shipped": "quick"}, {"shipped": "quick", "set": changes}):
            assert running.wait(running.submit(body)["id"])["status"] == "done"
        yield running


def _found(service: Service, noun: str, **filters: Any) -> list[dict[str, Any]]:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/{noun}", params=filters)
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["items"]
    return rows


FILTERS: list[tuple[dict[str, Any], int]] = [
    ({"cc": "reno"}, 1),
    ({"cc": ["reno", "cubic"]}, 0),
    ({"backend": "sandbox"}, 2),
    ({"backend": "mininet"}, 0),
    ({"owner": "runer"}, 2),
    ({"owner": "unknown"}, 0),
    ({"text": "80 ms RENO"}, 1),
    ({"text": "% _"}, 0),
    ({"from": "2020-01-01", "to": "2100-01-01T00:00:00Z"}, 2),
    ({"from": "2100-01-01"}, 0),
]


@pytest.mark.parametrize(("filters", "count"), FILTERS)
@pytest.mark.parametrize("noun", ["runs", "experiments"])
def test_both_lists_take_these_filters(service: Service, noun: str, filters: dict[str, Any], count: int) -> None:
    assert len(_found(service, noun, **filters)) == count


@pytest.mark.parametrize(
    ("filters", "count"),
    [({"rtt": "80 ms"}, 1), ({"rtt": "0.08 s"}, 1), ({"bandwidth": "10 Mbit/s"}, 2), ({"topology": "dumbbell"}, 2), ({"pinned": True}, 0)],
)  # fmt: skip
def test_the_list_of_runs_takes_these_filters_too(service: Service, filters: dict[str, Any], count: int) -> None:
    assert len(_found(service, "runs", **filters)) == count


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"rtt": "80 cows"}, "a duration needs a unit"),
        ({"bandwidth": "10 ms"}, "a rate needs a unit"),
        ({"bandwidth": "622 Mbit/s", "rtt": "80 cows"}, "reading the filter 80 cows"),
        ({"from": "2031-13-45"}, "this is not a valid date or time"),
        ({"from": "yesterday"}, "does not have the allowed form, for instance"),
        ({"cc": ["a"] * 6}, "at most 5"),
        ({"text": "x" * 201}, "200"),
        ({"text": "\x00"}, "does not have the allowed form, for instance"),
        ({"backend": "cloud"}, "'cloud' is not one of 'sandbox'"),
        ({"status": "banana"}, "'banana' is not one of 'queued'"),
        ({"sort": "best"}, "sorting runs best: an order is `newest`, `oldest`, one of name, owner, seed, goodput"),
        ({"sort": "goodput", "cursor": "fast_2031-05-17T09:00:00.000Z_ab"}, "it is not of a page in this order"),
        ({"skip": -1}, "greater than or equal to 0"),
        ({"experiment_id": "deadbeef"}, "'deadbeef' is not an id, which has 16 digits"),
    ],
)
def test_an_invalid_filter_is_422_with_the_reason(service: Service, filters: dict[str, Any], reason: str) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/runs", params=filters)
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


def test_a_list_has_a_total_if_requested(service: Service) -> None:
    with service.client("read") as client:
        for noun in ("runs", "experiments"):
            params: dict[str, Any] = {"cc": ["reno", "cubic"][:1], "limit": 1}
            assert client.get(f"{ROOT}/{noun}", params=params).json()["total"] is None
            all_of_them = len(client.get(f"{ROOT}/{noun}", params={"limit": 500}).json()["items"])
            page = client.get(f"{ROOT}/{noun}", params={"limit": 1, "total": True}).json()
            assert (len(page["items"]), page["total"]) == (1, all_of_them)
            assert client.get(f"{ROOT}/{noun}", params=params | {"total": True}).json()["total"] == 1


@pytest.mark.parametrize(
    "sort", ["newest", "oldest", "goodput", "-goodput", "-rtt", "seed", "-point.path.rtt", "start"]
)
def test_pages_in_every_order_and_after_a_jump_are_parts_of_one_list(service: Service, sort: str) -> None:
    whole = _found(service, "runs", sort=sort)
    assert len(whole) == 2
    with service.client("read") as client:
        first = client.get(f"{ROOT}/runs", params={"sort": sort, "limit": 1}).json()
        second = client.get(f"{ROOT}/runs", params={"sort": sort, "limit": 1, "cursor": first["next"]}).json()
    assert [*first["items"], *second["items"]] == whole and second["next"] is None
    assert _found(service, "runs", sort=sort, limit=1, skip=1) == second["items"]
    assert _found(service, "runs", sort=sort, skip=2) == []


def test_experiments_are_skipped_too(service: Service) -> None:
    assert _found(service, "experiments", skip=1) == _found(service, "experiments")[1:]


def test_a_row_has_the_setting_and_the_measures_of_its_run(service: Service) -> None:
    (row,) = _found(service, "runs", cc="reno")
    setting = {name: row[name] for name in ("topology", "bandwidth_bps", "rtt_us", "controls", "pinned")}
    assert setting == {
        "topology": "dumbbell", "bandwidth_bps": 10_000_000, "rtt_us": 80_000, "controls": ["reno"], "pinned": False
    }  # fmt: skip
    with service.client("read") as client:
        document = client.get(row["href"]).json()["document"]
    assert (row["utilisation"], row["jain"]) == (document["path"]["utilisation"], document["jain"])
    (experiment,) = _found(service, "experiments", cc="reno")
    assert (experiment["backend"], experiment["controls"]) == ("sandbox", ["reno"])


def test_only_its_owner_deletes_a_run_and_not_while_it_is_pinned_or_in_a_baseline(service: Service) -> None:
    ended = service.wait(service.submit({"shipped": "quick", "seed": 4712})["id"])
    (run,) = ended["runs"]
    token = service.make_token("stranger", "run")
    with service.client("run") as owner, service.as_token(token) as stranger, service.client() as admin:
        assert stranger.delete(run).status_code == 403
        assert owner.put(f"{run}/pin").status_code == 204
        refused = owner.delete(run)
        assert (refused.status_code, refused.json()["what"]) == (409, "it is pinned")
        assert owner.delete(f"{run}/pin").status_code == 204
        assert owner.put(f"{ROOT}/baselines/quick/lists", json={"experiment_id": ended["id"]}).status_code < 300
        assert "baseline" in admin.delete(run).json()["what"]
        admin.delete(ended["href"])
        assert owner.delete(run).status_code == 204
        assert owner.delete(run).status_code == 404
        assert owner.get(f"{run}/series", params={"measure": "cwnd", "flow": "app"}).status_code == 404
    # Submitted again, it runs again under the same id.
    again = service.wait(service.submit({"shipped": "quick", "seed": 4712})["id"])
    assert (again["runs"], again["progress"]["cached"], again["status"]) == ([run], 0, "done")


def test_the_list_is_a_table_to_download(service: Service) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/run-table", params={"sort": "-goodput", "text": "quick", "status": "done"})
        assert answer.headers["content-type"].startswith("text/csv")
        lines = list(csv.DictReader(io.StringIO(answer.text)))
        rows = _found(service, "runs", sort="-goodput", text="quick", status="done")
        assert [line["id"] for line in lines] == [row["id"] for row in rows] and len(rows) >= 2
        for line, row in zip(lines, rows, strict=True):
            assert float(line["goodput_bps"]) == row["goodput_bps"]
            assert line["jain"] == ("" if row["jain"] is None else repr(row["jain"]))
            assert (line["seed"], line["rtt_us"], line["created_at"]) == (
                str(row["seed"]), str(row["rtt_us"]), row["created_at"],
            )  # fmt: skip
        few = client.get(f"{ROOT}/run-table", params={"columns": "loss,goodput,point.path.rtt", "cc": "reno"}).text
        assert few.partition("\n")[0] == "id,experiment,status,seed,goodput_bps,loss_ratio,created_at"
        none = client.get(f"{ROOT}/run-table", params={"columns": "loss", "owner": "unknown"}).text
        assert none == "id,experiment,status,seed,loss_ratio,created_at\n"
        refused = client.get(f"{ROOT}/run-table", params={"columns": "loss,beauty"})
        assert refused.status_code == 422 and "a column is one of cc, path, goodput" in refused.json()["detail"]
        assert client.get(f"{ROOT}/run-table", params={"sort": "beauty"}).status_code == 422


def test_runs_are_grouped_by_experiment(service: Service) -> None:
    rows = _found(service, "runs", experiment="quick", status="done")
    with Client(service.url, service.tokens["read"]) as client:
        (group,) = client.run_groups(experiment="quick", status="done")
        assert (group.experiment, group.runs, group.statuses) == ("quick", len(rows), {"done": len(rows)})
        goodputs = [row["goodput_bps"] for row in rows]
        spread = group.results["goodput"]
        assert (spread.least, spread.most) == (min(goodputs), max(goodputs))
        assert spread.mean == pytest.approx(sum(goodputs) / len(rows))
        assert [one.experiment for one in client.run_groups(sort="name", limit=1)] == sorted(
            {row["experiment"] for row in _found(service, "runs")}
        )
        assert list(client.run_groups(owner="unknown")) == []
    with service.client("read") as client:
        refused = client.get(f"{ROOT}/run-groups", params={"sort": "-beauty"})
    assert refused.status_code == 422 and "one of name, runs, goodput" in refused.json()["detail"]
    # The command line groups the same runs.
    printed = json.loads(longhaul("list", "runs", "--group", "--json", "--find", "quick", home=service.home).stdout)
    assert [(one["experiment"], one["runs"]) for one in printed] == [("quick", len(rows))]
    assert "utilisation" in longhaul("list", "runs", "--group", home=service.home).stdout
    assert longhaul("list", "runs", "--group", "--csv", home=service.home).returncode == 2


def test_the_first_digits_of_an_id_are_enough(service: Service) -> None:
    (row,) = _found(service, "runs", cc="reno", status="done")[:1]
    (experiment,) = _found(service, "experiments", cc="reno")[:1]
    with service.client("read") as client:
        for noun, one in (("runs", row), ("experiments", experiment)):
            whole = client.get(one["href"]).json()
            for digits in (8, 11, len(one["id"])):
                assert client.get(f"{ROOT}/{noun}/{one['id'][:digits]}").json() == whole
            unknown = client.get(f"{ROOT}/{noun}/deadbeef")
            assert (unknown.status_code, unknown.json()["what"]) == (404, f"no {noun[:-1]}'s id begins with it")
            short = client.get(f"{ROOT}/{noun}/dead")
            assert short.status_code == 422
            assert "'dead' is not an id, which has" in short.json()["detail"]
            assert "the first 8 are enough" in short.json()["detail"] and "[0-9" not in short.json()["detail"]


def _act(client: Any, action: str, more: dict[str, Any] | None = None, **filters: Any) -> dict[str, Any]:
    answer = client.post(f"{ROOT}/run-actions", params=filters, json={"action": action, **(more or {})})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_all_runs_that_match_are_acted_on_with_the_rights_of_single_requests(
    service: Service,
) -> None:
    others = service.wait(service.submit({"shipped": "quick", "seed": 4715, "set": ["experiment=bulk"]}, "admin")["id"])
    asked = {"shipped": "quick", "repeats": 3, "set": ["experiment=bulk", "duration=3 s"]}
    mine = service.wait(service.submit(asked)["id"])
    ids = [href.rpartition("/")[2] for href in mine["runs"]]
    (other,) = (href.rpartition("/")[2] for href in others["runs"])
    of_bulk: dict[str, Any] = {"experiment": "bulk"}
    with service.client("run") as owner, service.client("read") as reader, service.client() as admin:
        assert reader.post(f"{ROOT}/run-actions", params=of_bulk, json={"action": "delete"}).status_code == 403
        # A filter that finds nothing, and one that is not understood, change nothing.
        assert _act(owner, "delete", experiment="none") == {"done": 0, "refused": [], "next": None}
        assert (
            owner.post(f"{ROOT}/run-actions", params={"status": "banana"}, json={"action": "delete"}).status_code == 422
        )
        assert owner.post(f"{ROOT}/run-actions", json={"action": "paint"}).status_code == 422
        pinned = _act(owner, "pin", {"without": [ids[0]]}, **of_bulk)
        assert pinned["done"] == 2
        assert [(one["status"], one["what"], one["count"], one["runs"]) for one in pinned["refused"]] == [
            (403, "it belongs to first", 1, [other])
        ]
        assert {row["id"] for row in _found(service, "runs", pinned=True, **of_bulk)} == set(ids[1:])
        # Runs that are made later are not meant.
        newest = min(row["created_at"] for row in _found(service, "runs", **of_bulk))
        assert _act(owner, "unpin", {"until": newest.replace("+00:00", "Z")}, **of_bulk)["done"] == 0
        deleted = _act(owner, "delete", **of_bulk)
        assert deleted["done"] == 1 and deleted["next"] is None
        assert {(one["what"], one["count"]) for one in deleted["refused"]} == {
            ("it belongs to first", 1), ("it is pinned", 2),
        }  # fmt: skip
        assert _act(owner, "unpin", experiment_id=mine["id"])["done"] == 2
        assert {row["pinned"] for row in _found(service, "runs", **of_bulk)} == {False}
        assert _act(owner, "rerun", text=ids[1])["done"] == 1
        # The audit has a line for each run.
        lines = admin.get(f"{ROOT}/audit", params={"limit": 500}).json()
        deletions = {
            line["subject"].rpartition("/")[2]: line["outcome"] for line in lines if line["action"] == "delete_run"
        }
        assert deletions[ids[0]] == 204 and deletions[ids[1]] == 409 and deletions[other] == 403


def test_the_python_client_acts_on_all_runs_that_match(service: Service) -> None:
    asked = {"shipped": "quick", "repeats": 2, "set": ["experiment=bulk-python", "duration=3 s"]}
    service.wait(service.submit(asked)["id"])
    with Client(service.url, service.tokens["run"]) as client:
        assert client.act_on_runs("pin", experiment="bulk-python").done == 2
        refused = client.act_on_runs("delete", experiment="bulk-python", cc="cubic")
        assert (refused.done, [(one.what, one.count) for one in refused.refused]) == (0, [("it is pinned", 2)])
        assert client.act_on_runs("unpin", experiment="bulk-python").done == 2
        assert client.act_on_runs("delete", experiment="bulk-python").done == 2
        assert client.act_on_runs("delete", experiment="bulk-python").done == 0


def test_a_bulk_action_goes_on_at_its_cursor(service: Service) -> None:
    """More runs than one request does; they wait, so each is refused."""
    made = service.submit(
        {"shipped": "quick", "repeats": 130, "set": ["experiment=bulk-long", "duration=4000 s"], "priority": -10}
    )
    with service.client("run") as owner:
        first = _act(owner, "delete", experiment="bulk-long")
        second = _act(owner, "delete", {"cursor": first["next"]}, experiment="bulk-long")
        counts = [sum(one["count"] for one in answer["refused"]) + answer["done"] for answer in (first, second)]
        assert (counts, second["next"]) == ([100, 30], None)
        owner.post(f"{ROOT}/experiments/{made['id']}/cancel")


def test_a_rerun_has_the_trace_of_the_original_run(service: Service) -> None:
    (row,) = _found(service, "runs", cc="reno")
    with service.client("run") as client:
        made = client.post(f"{row['href']}/rerun").json()
        assert made["rerun_of"] == row["id"]
        assert service.wait(made["id"])["status"] == "done"
        again = client.get(made["runs"][0]).json()
        assert (again["rerun_of"], again["document"]["rerun"]["identical"]) == (row["id"], True)
        assert client.get(f"{again['href']}/outline").json() == client.get(f"{row['href']}/outline").json()
        for place in (
            "series?measure=cwnd&flow=app",
            "timelines",
            "distributions?measure=rtt",
            "files",
            "files/log.txt",
        ):
            answer = client.get(f"{again['href']}/{place}")
            assert answer.status_code == 200, answer.text
            assert answer.content == client.get(f"{row['href']}/{place}").content, place
        compared = client.get(f"{ROOT}/comparisons", params={"a": row["id"], "b": again["id"]}).json()
        assert (compared["identical"], compared["differs"]) == (True, [])
        # Lists find a rerun by the original run and mark it as a rerun.
        (listed,) = _found(service, "runs", text=f"rerun={row['id']}")
        assert (listed["id"], listed["rerun_of"]) == (again["id"], row["id"])
        client.delete(again["href"])
        client.delete(made["href"])


def test_changes_continue_where_the_last_response_ended(service: Service) -> None:
    with service.client("read") as client:
        begin = client.get(f"{ROOT}/changes").json()
        assert begin["items"] == []
        made = service.submit({"shipped": "quick", "seed": 4713})
        service.wait(made["id"])
        found, last = [], begin["last"]
        while items := (answer := client.get(f"{ROOT}/changes", params={"after": last, "limit": 2}).json())["items"]:
            found += items
            last = answer["last"]
    assert [one["id"] for one in found] == sorted(one["id"] for one in found)
    mine = [
        one["kind"] for one in found if made["id"] == one["experiment"] or made["runs"][0].endswith(one["run"] or "-")
    ]
    assert mine == ["experiment.queued", "run.queued", "run.started", "run.finished", "experiment.finished"]


def test_the_queue_lists_running_and_next_runs(service: Service) -> None:
    made = service.submit({"shipped": "quick", "repeats": 40, "set": ["duration=4000 s"], "priority": 2})
    with service.client("read") as client, service.client() as admin:
        while not (queue := client.get(f"{ROOT}/queue").json())["running"]:
            time.sleep(0.05)
        (worker,) = queue["workers"]
        assert worker["there"] and worker["slots"] >= len(queue["running"])
        assert {task["by"] for task in queue["running"]} == {worker["dispatcher"]}
        assert queue["waiting"] + len(queue["running"]) == 40
        assert queue["next"][0]["priority"] == 2
        (share,) = queue["owners"]
        assert (share["owner"], share["waiting"], share["running"]) == (
            "runer",
            queue["waiting"],
            len(queue["running"]),
        )
        assert {task["href"] for task in queue["running"] + queue["next"]} <= set(made["runs"])
        admin.post(f"{made['href']}/cancel")
    service.wait(made["id"])


def test_the_verdicts_of_a_figure_use_only_its_own_runs(service: Service) -> None:
    # A run of an experiment with the same name that is not one of the figure's.
    shipped = {"shipped": "agilesd/fig4-epoch", "set": ["duration=20 s"], "repeats": 1}
    service.wait(service.submit(shipped)["id"])
    with service.client("run") as client:
        before = client.get(FIGURE).json()
        assert {claim["verdict"] for claim in before["claims"]} == {"not run"}
        assert (before["full"]["runs"], before["full"]["kept"]) == (2, 0)
        assert client.get(f"{FIGURE}/pictures").json() == []
        for made in client.post(FIGURE, json={"extent": "quick"}).json()["experiments"]:
            assert service.wait(made.rpartition("/")[2])["status"] in ("done", "missed")
        after = client.get(FIGURE).json()
        assert {claim["verdict"] for claim in after["claims"]} == {"agrees"}
        assert after["full"]["complete"] and after["extent"] == "full"
        (row,) = [one for one in client.get(f"{ROOT}/reproductions/agilesd").json() if one["figure"] == "fig4"]
        assert row["claims"] == after["claims"]
        (picture, *_) = (answer := client.get(f"{FIGURE}/pictures")).json()
        assert picture["plates"][0]["svg"].startswith("<svg")
        rows = list(csv.DictReader(io.StringIO(picture["csv"])))
        assert {value for one in rows for value in one.values()} >= {"agilesd", "newreno"}
        tag = answer.headers["etag"]
        assert client.get(f"{FIGURE}/pictures", headers={"If-None-Match": tag}).status_code == 304
        # Without one of its runs the figure has no verdict.
        name = after["experiments"]["agilesd/fig4-epoch"]
        gone = max(_found(service, "runs", experiment=name), key=lambda one: float(one["virtual_s"]))
        assert client.delete(gone["href"]).status_code == 204
        assert {claim["verdict"] for claim in client.get(FIGURE).json()["claims"]} == {"not run"}


@pytest.mark.parametrize(("place", "reason"), [("apptcp/fig66", "nearest: fig6"), ("nothing/fig1", "no such paper")])
def test_an_unknown_figure_is_404_with_the_nearest_name(service: Service, place: str, reason: str) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/reproductions/{place}")
    assert answer.status_code == 404
    assert reason in answer.json()["detail"]


def test_modules_are_tried(service: Service) -> None:
    with service.client("run") as client:
        modules = {row["cc"]: row for row in client.get(f"{ROOT}/modules").json()}
        assert modules["cubic"]["kernels"]["6.12"] == "part of the kernel"
        assert (modules["apptcp"]["of"], modules["apptcp"]["kernels"]["6.12"]) == ("longhaul", "built")
        assert modules["vegas"]["trial"] is None
        made = client.post(f"{ROOT}/modules/vegas/trial").json()
        assert service.wait(made["id"])["status"] == "done"
        (row,) = [one for one in client.get(f"{ROOT}/modules").json() if one["cc"] == "vegas"]
        assert (row["trial"]["experiment"], row["trial"]["status"]) == (made["href"], "done")
        assert client.post(f"{ROOT}/modules/unknown/trial").status_code == 404
        assert client.post(f"{ROOT}/modules/vegas/trial", params={"kernel": "2.4"}).status_code == 404


def test_only_the_leaseholder_sees_the_fence_and_releases_the_lease_with_it(service: Service) -> None:
    with service.client("run") as mine, service.client("read") as other:
        host = mine.get(f"{ROOT}/hosts").json()[0]["id"]
        taken = mine.post(f"{ROOT}/hosts/{host}/lease", json={"seconds": 60}).json()
        assert mine.get(f"{ROOT}/hosts/{host}").json()["fence"] == taken["fence"]
        assert other.get(f"{ROOT}/hosts/{host}").json()["fence"] is None
        assert mine.delete(f"{ROOT}/hosts/{host}/lease", params={"fence": taken["fence"]}).status_code == 204
        assert mine.get(f"{ROOT}/hosts/{host}").json()["fence"] is None


def test_runs_of_other_programs_are_marked_in_every_list(tmp_path: Path) -> None:
    """A run of an earlier kernel and agent, a run of the current ones, and an experiment of each."""
    home = tmp_path / "home"
    store = Store(replace(load_settings(), home=home, database=""))
    store.directory(KEY).parent.mkdir(parents=True)
    shutil.copytree(OLD, store.directory(KEY))
    found = store.find(KEY)
    assert found is not None
    store.adopt(found)
    lab, old = Lab(store.database), "0" * 16
    lab.submit(old, [KEY])
    lab.experiments.set_baseline("quick", "main", old, "ada")
    before, now = "fb4dc37adf09", hashes({"agent": AGENT})["agent"][:12]
    with served(home) as service:
        new = service.wait(service.submit({"shipped": "quick", "seed": 4})["id"])
        assert new["other_programs"] == []
        with service.programs_client("gate") as client:
            client.set_baseline("quick", "side", new["id"])
            (lines,) = [row.other_programs for row in client.runs() if row.id == KEY]
            assert f"agent: {before} then, {now} now" in lines
            assert lines[0].startswith("kernel: 3cfc52daa89d then, ")
            assert {row.id: row.other_programs for row in client.experiments()} == {new["id"]: [], old: lines}
            assert {row.branch: row.other_programs for row in client.baselines()} == {"main": lines, "side": []}
            assert client.run(KEY).other_programs == client.experiment(old).other_programs == lines
        table = longhaul("baseline", "list", home=tmp_path / "job", **service.command()).stdout
        assert [line.endswith("kernel, agent, lh_trace") for line in map(str.rstrip, table.splitlines())] == [
            False,
            True,
            False,
        ]
        assert max(map(len, table.splitlines())) <= 80, table
        rows = {row["id"]: row for row in json.loads(longhaul("list", "runs", "--json", home=home).stdout)}
        assert {key: row["other_programs"] for key, row in rows.items()} == {
            KEY: lines, new["runs"][0].rpartition("/")[2]: []
        }  # fmt: skip
    table = longhaul("list", "runs", home=home).stdout
    assert "other programs" in table.splitlines()[0], table
