"""Lists: rows that a filter finds, runs that may be deleted, the queue, and workers."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest

from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.identities import Identities
from longhaul.orchestrator.database.queue_view import read_queue
from longhaul.orchestrator.database.search_fields import line_of, normal, run_traits
from longhaul.orchestrator.database.work import Wanted
from longhaul.orchestrator.database.workers import GONE_S, Worker, Workers
from tests.support.queue import RUN, Lab, document
from tests.support.queue import on_sqlite as on_sqlite


def run(cc: str, rtt_ms: int = 10, bandwidth_mbps: int = 100, backend: str = "sandbox", **point: Any) -> dict[str, Any]:
    flows = [{"name": "app", "cc": cc, "variant": cc}, {"name": "bg", "cc": "reno", "variant": "newreno"}]
    meaning = {"topology": "dumbbell", "bandwidth_bps": bandwidth_mbps * 10**6, "rtt_us": rtt_ms * 1000}
    return RUN | {"flows": flows, "meaning": meaning, "point": point, "backend": backend}


RUNS = {
    "a" * 20: run("cubic"),
    "b" * 20: run("bic", rtt_ms=300, bandwidth_mbps=622, **dict[str, Any]({"path.limit": "5"})),
    "c" * 20: run("bbr", rtt_ms=30, rate="256 Mbit/s"),
    "d" * 20: run("cubic", backend="mininet", **dict[str, Any]({"path.limit": "50"})),
}


@pytest.fixture
def listed(lab: Lab) -> Lab:
    for key, one in RUNS.items():
        owner = "Ada" if key[0] in "ab" else "ben"
        lab.submit(f"e{key[0]}", [Wanted(key, one, {})], owner, about=f"about {key[0]} 100 %")
    lab.catalog.add("b" * 20, document("b" * 20) | {"path": {"utilisation": 0.75}, "jain": 0.5}, RUNS["b" * 20])
    lab.catalog.pin("c" * 20, True)
    return lab


FOUND: list[tuple[Filter, str]] = [
    (Filter(), "abcd"),
    (Filter(controls=("cubic",)), "ad"),
    (Filter(controls=("cubic", "reno")), "ad"),
    # A name is a whole word: `bic` does not match `cubic`.
    (Filter(controls=("bic",)), "b"),
    (Filter(controls=("ic",)), ""),
    (Filter(owner="Ada"), "ab"),
    (Filter(owner="ada"), ""),
    (Filter(backend="mininet"), "d"),
    (Filter(status="done"), "b"),
    (Filter(status="queued", controls=("cubic",), backend="sandbox"), "a"),
    (Filter(topology="dumbbell"), "abcd"),
    (Filter(topology="dumb"), ""),
    (Filter(bandwidth_bps=622_000_000), "b"),
    (Filter(rtt_us=30_000), "c"),
    (Filter(text="300 ms"), "b"),
    (Filter(text="300ms BIC"), "b"),
    (Filter(text="rate=256 mbit/s"), "c"),
    # A named value is the whole value, and a swept field may be written without its prefix.
    (Filter(text="rate=256"), ""),
    (Filter(text="rate = 256 Mbit/s"), "c"),
    (Filter(text="tt=300ms"), ""),
    (Filter(text="limit=5"), "b"),
    (Filter(text="path.limit=5"), "b"),
    (Filter(text="limit="), "bd"),
    # A number is found in each of its spellings.
    (Filter(text="limit=5.0e0"), "b"),
    (Filter(text="cc=cub"), ""),
    (Filter(text="cub sandbox"), "a"),
    (Filter(text="b" * 20), "b"),
    (Filter(text="NewReno"), "abcd"),
    (Filter(text="100 %_"), ""),
    (Filter(text="'; DROP TABLE runs"), ""),
    (Filter(pinned=True), "c"),
    (Filter(pinned=False, owner="ben"), "d"),
    (Filter(since="2020-01-01T00:00:00.000+00:00"), "abcd"),
    (Filter(until="2020-01-01T00:00:00.000+00:00"), ""),
    (Filter(name="x"), "abcd"),
    (Filter(name="y"), ""),
]


@pytest.mark.parametrize(("wanted", "keys"), FOUND, ids=[str(number) for number in range(len(FOUND))])
def test_a_filter_finds_these_runs(listed: Lab, wanted: Filter, keys: str) -> None:
    found = [row["id"] for row in listed.catalog.page(10, wanted)]
    assert sorted(found) == [key * 20 for key in keys]
    assert "words" not in listed.catalog.page(1)[0]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [(one, keys) for one, keys in FOUND if one.pinned is None and one.topology != "dumb" and one.status is None],
)
def test_and_these_experiments(listed: Lab, wanted: Filter, keys: str) -> None:
    if wanted.text and any(part in wanted.text for part in ("rate", "limit=", "NewReno")):
        # Swept values and names of flows are fields of the runs.
        keys = ""
    if wanted.text == "b" * 20:
        keys = ""
    assert sorted(row["id"] for row in listed.experiments.page(10, wanted)) == [f"e{key}" for key in keys]


def test_words_of_an_experiments_description_are_found(listed: Lab) -> None:
    assert [row["id"] for row in listed.experiments.page(10, Filter(text="ABOUT ec"))] == ["ec"]
    (row,) = listed.experiments.page(10, Filter(text="ed"))
    assert (row["backend"], row["controls"]) == ("mininet", "cubic reno")


def test_pages_of_a_search_skip_and_repeat_nothing(lab: Lab) -> None:
    keys = [f"{number:020x}" for number in range(40)]
    lab.submit("e", [Wanted(key, run("cubic" if number % 3 else "bic"), {}) for number, key in enumerate(keys)])
    for wanted in (Filter(controls=("bic",)), Filter(text="cc=bic", status="queued")):
        seen, after = [], None
        while rows := lab.catalog.page(3, wanted, after=after):
            seen += [row["id"] for row in rows]
            after = rows[-1]["created_at"], rows[-1]["id"]
        assert seen == [key for number, key in enumerate(keys) if number % 3 == 0][::-1]


def test_a_row_has_the_fields_and_results_of_a_run(listed: Lab) -> None:
    row = listed.catalog.run("b" * 20)
    assert row is not None
    shown = {name: row[name] for name in ("topology", "bandwidth_bps", "rtt_us", "controls", "utilisation", "jain")}
    assert shown == {
        "topology": "dumbbell", "bandwidth_bps": 622_000_000, "rtt_us": 300_000, "controls": "bic reno",
        "utilisation": 0.75, "jain": 0.5,
    }  # fmt: skip
    listed.catalog.revise("b" * 20, document("b" * 20) | {"path": {"utilisation": 0.5}})
    row = listed.catalog.run("b" * 20)
    assert row is not None and (row["utilisation"], row["jain"]) == (0.5, None)
    # A run that was never queued: kept at the command line.
    listed.catalog.add("f" * 20, document("f" * 20), run("vegas"))
    assert [one["id"] for one in listed.catalog.page(9, Filter(controls=("vegas",)))] == ["f" * 20]


def test_words_stay_words() -> None:
    assert normal(" 300  ms\n622 Mbit/s 5 % App") == "300ms 622mbit/s 5% app"
    assert line_of(["a", "b", "a", ""]) == " a b "
    long = line_of([f"flow{number}" for number in range(1000)])
    assert len(long.encode()) <= 2001 and long.endswith(" ") and long.split()[-1] in [f"flow{n}" for n in range(1000)]
    line = run_traits("k", "x", None, run("cubic") | {"point": {"flows.app.cc": "a b"}})["words"]
    assert " flows.app.cc=a-b " in line and " owner=" not in line


def test_a_rerun_names_its_run_and_is_found_by_it(listed: Lab) -> None:
    again = Wanted("e" * 20, run("cubic"), {}, rerun_of="b" * 20)
    listed.submit("ee", [again])
    assert [row["id"] for row in listed.catalog.page(9, Filter(text=f"rerun={'b' * 20}"))] == ["e" * 20]
    assert {row["id"]: row["rerun_of"] for row in listed.catalog.page(9) if row["rerun_of"]} == {"e" * 20: "b" * 20}
    assert {row["id"]: row["rerun_of"] for row in listed.experiments.page(9) if row["rerun_of"]} == {"ee": "b" * 20}
    assert listed.experiments.get("ee")["rerun_of"] == "b" * 20
    # It does not change the state of the experiment whose run it repeats.
    assert listed.experiments.newest_named(["x"])["x"]["id"] == "ed"


def test_only_unprotected_runs_are_removable(listed: Lab) -> None:
    assert listed.catalog.let_go("a" * 20) == "it is queued"
    assert listed.catalog.let_go("b" * 20) is None
    assert listed.catalog.run("b" * 20) is None
    listed.keep("d" * 20)
    listed.experiments.set_baseline("x", "main", "ed", "ada")
    assert "baseline" in str(listed.catalog.let_go("d" * 20))
    listed.keep("c" * 20)
    assert listed.catalog.let_go("c" * 20) == "it is pinned"
    listed.catalog.pin("c" * 20, False)
    assert listed.catalog.let_go("c" * 20) is None
    assert listed.catalog.let_go("c" * 20) is None


def test_the_queue_shows_running_and_next_runs(listed: Lab) -> None:
    listed.submit("urgent", [Wanted("e" * 20, run("lp"), {})], owner="cy", priority=5)
    assert [row["run_id"][0] for row in read_queue(listed.database, time.time(), 9).next] == ["e", "a", "c", "d"]
    (claim,) = listed.claim()
    assert claim.run_id == "e" * 20
    listed.work.renew("one", {claim.run_id: (claim.fence, 1.5)}, 10.0)
    queue = read_queue(listed.database, time.time(), 2)
    (row,) = queue.running
    assert (row["run_id"], row["claimed_by"], row["progress_s"], row["virtual_s"]) == ("e" * 20, "one", 1.5, 3.0)
    assert [row["run_id"][0] for row in queue.next] == ["a", "c"]
    owners = {row["owner"]: (row["waiting"], row["running"], row["priority"]) for row in queue.owners}
    assert owners == {"cy": (0, 1, 5), "Ada": (1, 0, 0), "ben": (2, 0, 0)}
    assert (queue.waiting, queue.first_s) == (3, min(row["queued_s"] for row in queue.next))


def test_a_claim_that_ran_out_waits_again(listed: Lab) -> None:
    (claim,) = listed.claim(lease_s=-1.0)
    queue = read_queue(listed.database, time.time(), 9)
    assert queue.running == []
    assert len(queue.next) == queue.waiting == 3
    # The metric and the check for runs that no worker takes count the same runs as waiting.
    count, age_s = listed.work.waiting()
    assert count == queue.waiting
    assert age_s == pytest.approx(time.time() - (queue.first_s or 0), abs=1)
    assert claim.run_id in listed.work.unplaced(["root"])


def test_workers_are_those_of_their_dispatchers_last_report(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(lab.database)
    one, two = Worker("tcp://a", "a", 4, ["sandbox"]), Worker("tcp://b", "b", 2, ["sandbox", "root"])
    workers.tell("lab", [one, two], "1.0")
    workers.tell("other", [Worker("c", "c", 1, [])], "1.0")
    begun = {row["name"]: row["since_s"] for row in workers.all()}
    workers.tell("lab", [two], "1.0")
    assert [(row["name"], row["there"], row["needs"]) for row in workers.all()] == [
        ("tcp://b", True, ["sandbox", "root"]),
        ("c", True, []),
    ]
    assert {row["name"]: row["since_s"] for row in workers.all()}.items() <= begun.items()
    later = time.time() + GONE_S + 1
    monkeypatch.setattr("longhaul.orchestrator.database.workers.time.time", lambda: later)
    assert [row["there"] for row in workers.all()] == [False, False]
    workers.tell("lab", [two], "1.0")
    row = workers.all()[0]
    assert (row["there"], row["since_s"]) == (True, later)


def test_changes_are_all_events_but_progress(listed: Lab) -> None:
    (claim,) = listed.claim()
    listed.work.renew("one", {claim.run_id: (claim.fence, 1.5)}, 10.0)
    kinds = [event["kind"] for event in listed.events.changes(0)]
    assert "run.progress" not in kinds and "run.started" in kinds
    assert [event["id"] for event in listed.events.changes(listed.events.newest())] == []


def test_the_identities_of_runs_and_of_experiments_are_found(lab: Lab) -> None:
    made_by = {"kernel": "k" * 32, "agent": "a" * 64}
    lab.submit("mixed", ["a", "b", "c", "d", "e"])
    for key, identity in (("a", made_by), ("b", made_by), ("c", made_by | {"agent": "b" * 64})):
        lab.catalog.add(key, document(key) | {"identity": identity}, RUN)
    # A rerun keeps only its verdict; a damaged run does not count.
    lab.keep("d")
    lab.catalog.add("e", document("e") | {"identity": made_by}, RUN)
    lab.catalog.void("e")
    identities = Identities(lab.database)
    found = identities.of_runs(["a", "b", "c", "d", "e", "f"])
    assert sorted(found) == ["a", "b", "c"]
    assert (found["a"], json.loads(found["a"])) == (found["b"], made_by)
    assert identities.of_experiments(["mixed", "none"]) == {
        "mixed": {found["a"]: "a", found["c"]: "c"}, "none": {}
    }  # fmt: skip


def test_a_wanted_run_takes_no_more_memory_than_its_row() -> None:
    """The plans of a sweep of 20,000 points are in memory at once while it is submitted."""
    one = {
        **run("cubic"),
        "nodes": [{"name": f"host{number}", "sysctls": [["net/ipv4/tcp_mem", "1 2 3"]]} for number in range(50)],
    }
    tracemalloc.start()
    wanted = [Wanted(f"{number:020x}", {**one, "seed": number}, {"experiment": "x"}) for number in range(200)]
    each = tracemalloc.get_traced_memory()[0] / len(wanted)
    tracemalloc.stop()
    assert each < 2000 < len(json.dumps(one))
    assert [one.run["seed"] for one in wanted] == list(range(200))


def test_the_documents_of_a_large_sweep_come_in_order(lab: Lab) -> None:
    runs = [f"{number * 7919 % 1009:020x}" for number in range(450)]
    lab.submit("e", runs)
    for run in sorted(runs):
        lab.keep(run)
    found = [document["run"] for document in lab.experiments.each_document("e")]
    assert found == runs
    assert [document["run"] for document in lab.experiments.documents("e")] == runs
