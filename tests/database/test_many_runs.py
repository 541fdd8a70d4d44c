"""Lists of many runs: an index finds exactly the rows that reading every line finds, and counters have exactly the rows that are there."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select, update

from longhaul.orchestrator.database import word_index
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.dump import dump, load
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.lists.orders import read_order
from longhaul.orchestrator.database.tables import RUN_WORDS, RUNS, WORDS
from longhaul.orchestrator.database.work import Wanted
from longhaul.orchestrator.system.errors import PlanError
from tests.support.queue import RUN, Lab, document, failure

CONTROLS = ("cubic", "htcp", "bic")
FILTERS = [
    Filter(),
    *(Filter(status=status) for status in ("queued", "done", "missed", "running")),
    Filter(owner="Ada"),
    Filter(owner="ada"),
    Filter(name="x"),
    Filter(controls=("htcp",)),
    Filter(controls=("htcp",), owner="ada", status="queued"),
    Filter(controls=("htcp",), rtt_us=20_000),
    Filter(topology="dumbbell", backend="sandbox"),
    Filter(pinned=True),
    *(
        Filter(text=text)
        for text in (
            "cubic",
            "rtt = 20 ms",
            "ms",
            "rtt=2",
            "path.rtt=30ms",
            "tt=30ms",
            "seed=3",
            "seed=",
            "e",
            "abc",
            "00",
            "%",
            "_",
            "no",
            "htcp 20ms",
        )
    ),
    Filter(text="cubic", status="done"),
    Filter(text="30ms", since="2020-01-01", until="2100-01-01"),
]


@pytest.fixture
def lab(url: str) -> Iterator[Lab]:
    """Sixty runs of two users: some wait, some are kept, one runs."""
    lab = Lab(url)
    chance = random.Random(5)
    ids = [f"{chance.getrandbits(80):020x}" for _ in range(60)]
    for number, some in enumerate((ids[:20], ids[20:40], ids[40:])):
        wanted = [Wanted(key, _run(place), {}) for place, key in enumerate(some)]
        lab.submit(f"e{number}", wanted, owner=("ada", "Ada", "ben")[number])
    for place, key in enumerate(ids[::3]):
        kept = document(key, chance.choice(("done", "missed")))
        # Some values are equal, and some are none.
        flows = [{"name": "app", "rtt_ms": {"mean": chance.choice((10.5, 20.0, 300.25))}, "loss_ratio": place / 3}]
        jain = chance.choice((None, 0.5, 1.0))
        lab.catalog.add(key, kept | {"flows": flows, "goodput_total": chance.random() * 1e9, "jain": jain}, RUN)
    lab.catalog.add("f" * 20, document("f" * 20) | {"point": _run(7)["point"]}, _run(7))
    lab.catalog.pin(ids[0], True)
    lab.claim(1)
    yield lab
    lab.database.close()


def _run(place: int) -> dict[str, Any]:
    rtt_ms = 10 * (place % 4)
    meaning = {**RUN["meaning"], "rtt_us": rtt_ms * 1000}
    flows = [{**RUN["flows"][0], "cc": CONTROLS[place % 3], "variant": CONTROLS[place % 3]}]
    return {**RUN, "flows": flows, "meaning": meaning, "seed": place, "point": {"path.rtt": f"{rtt_ms} ms"}}


def _read_all(lab: Lab, wanted: Filter) -> list[str]:
    """Without any index of words."""
    query = wanted.apply(select(RUNS.c.id), RUNS).order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())
    with lab.database.read() as connection:
        return list(connection.execute(query).scalars())


def _pages(lab: Lab, wanted: Filter) -> list[str]:
    """In pages of seven."""
    found: list[dict[str, Any]] = []
    while page := lab.catalog.page(7, wanted, after=(found[-1]["created_at"], found[-1]["id"]) if found else None):
        found += page
    return [row["id"] for row in found]


@pytest.mark.parametrize(("most_runs", "most_words"), [(5000, 200), (5, 200), (5000, 2)])
def test_every_filter_finds_and_counts_what_reading_every_line_finds(
    lab: Lab, most_runs: int, most_words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few runs and words count as frequent."""
    monkeypatch.setattr(word_index, "_MOST_RUNS", most_runs)
    monkeypatch.setattr(word_index, "_MOST_WORDS", most_words)
    some = 0
    for wanted in [*FILTERS, Filter(text=lab.catalog.page(1, Filter(kept=True))[0]["id"][4:9])]:
        expected = _read_all(lab, wanted)
        assert _pages(lab, wanted) == expected, wanted
        assert lab.catalog.count(wanted) == len(expected), wanted
        oldest = [row["id"] for row in lab.catalog.page(100, wanted, oldest_first=True)]
        assert oldest == expected[::-1], wanted
        some += 0 < len(expected) < 61
    assert some > 15


def _groups_in_python(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The groups of rows; `rows` are the newest first."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        group = found.setdefault(row["experiment"], {"created_at": row["created_at"], "rows": []})
        group["rows"].append(row)
    return found


def test_groups_are_those_of_the_rows(lab: Lab) -> None:
    with lab.database.write() as connection:
        for place, key in enumerate(_read_all(lab, Filter())):
            connection.execute(update(RUNS).where(RUNS.c.id == key).values(experiment=f"study-{place % 7}"))
    for wanted in FILTERS:
        expected = _groups_in_python(lab.catalog.page(100, wanted))
        groups, total = lab.catalog.groups(100, wanted)
        assert total == len(expected) == len(groups), wanted
        assert [group.created_at for group in groups] == sorted((group.created_at for group in groups), reverse=True)
        for group in groups:
            rows = expected[group.experiment]["rows"]
            assert (group.runs, group.created_at) == (len(rows), expected[group.experiment]["created_at"])
            assert group.statuses == Counter(row["status"] for row in rows)
            for name, column in {"goodput": "goodput_bps", "jain": "jain", "rtt": "rtt_mean_ms"}.items():
                values = [row[column] for row in rows if row[column] is not None]
                if not values:
                    assert name not in group.results
                    continue
                assert group.results[name] == pytest.approx((sum(values) / len(values), min(values), max(values)))


def test_groups_have_orders_and_pages(lab: Lab) -> None:
    with lab.database.write() as connection:
        for place, key in enumerate(_read_all(lab, Filter())):
            connection.execute(update(RUNS).where(RUNS.c.id == key).values(experiment=f"study-{place % 7}"))
    every, _ = lab.catalog.groups(100)
    assert [group.experiment for group in lab.catalog.groups(100, sort="name")[0]] == [f"study-{n}" for n in range(7)]
    most = [group.runs for group in lab.catalog.groups(100, sort="-runs")[0]]
    assert most == sorted(most, reverse=True)
    means = [group.results["goodput"].mean for group in lab.catalog.groups(100, sort="goodput")[0]]
    assert means == sorted(means)
    pages = [lab.catalog.groups(3, sort="newest", skip=skip) for skip in (0, 3, 6, 9)]
    assert [group for page, _ in pages for group in page] == every
    assert {total for _, total in pages} == {7}
    with pytest.raises(PlanError, match="newest"):
        lab.catalog.groups(1, sort="-beauty")


ORDERS = ["newest", "oldest", "goodput", "-goodput", "rtt", "jain", "-seed", "start", "-name", "owner", "point.path.rtt", "-point.path.rtt", "point.none"]  # fmt: skip


def _by(order: str) -> Callable[[dict[str, Any]], Any]:
    """The value of a row by which an order sorts, read from the row itself; None without one."""
    name = order.removeprefix("-")
    if name.startswith("point."):
        return lambda row: None if (at := json.loads(row["point"]).get(name[6:])) is None else int(at.split()[0])
    column = {"goodput": "goodput_bps", "rtt": "rtt_mean_ms", "start": "started_at", "name": "experiment"}
    return lambda row: row[column.get(name, name)]


def _sorted(rows: list[dict[str, Any]], order: str) -> list[str]:
    """In Python; `rows` are the newest first."""
    if order in ("newest", "oldest"):
        return [row["id"] for row in (rows if order == "newest" else reversed(rows))]
    by = _by(order)
    there = sorted((row for row in rows if by(row) is not None), key=by, reverse=order.startswith("-"))
    # Python keeps the order of equal values, also when it sorts backwards.
    return [row["id"] for row in there] + [row["id"] for row in rows if by(row) is None]


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_is_total_and_pages_of_it_skip_and_repeat_nothing(lab: Lab, order: str) -> None:
    asked = read_order(order)
    some = 0
    for wanted in FILTERS:
        rows = lab.catalog.page(100, wanted)
        expected = _sorted(rows, order)
        pages: list[str] = []
        place = None
        while found := lab.catalog.ordered(7, wanted, asked, after=place):
            pages += [row["id"] for row, _ in found]
            place = found[-1][1]
        assert pages == expected, wanted
        # A jump: after a place, and without the rows in between.
        place = None if len(found := lab.catalog.ordered(4, wanted, asked)) < 4 else found[-1][1]
        jumped = lab.catalog.ordered(5, wanted, asked, after=place, skip=9)
        assert [row["id"] for row, _ in jumped] == expected[9 + (4 if place else 0) :][:5], wanted
        some += len(expected) > 14
    assert some > 10


@pytest.mark.parametrize("oldest_first", [False, True])
def test_a_page_by_time_skips_rows(lab: Lab, oldest_first: bool) -> None:
    rows = lab.catalog.page(100, oldest_first=oldest_first)
    after = rows[4]["created_at"], rows[4]["id"]
    assert lab.catalog.page(6, after=after, oldest_first=oldest_first, skip=20) == rows[25:31]
    assert lab.catalog.page(6, oldest_first=oldest_first, skip=58) == rows[58:]
    assert lab.catalog.page(6, skip=1000) == []


@pytest.mark.parametrize(
    "order", ["", "banana", "-newest", "point.", "point.a b", "point.%27", "goodput;", "--goodput"]
)
def test_an_unknown_order_is_refused_with_the_known_ones(order: str) -> None:
    with pytest.raises(PlanError, match=r"an order is `newest`, `oldest`, one of name, .*goodput"):
        read_order(order)


def _check_counts(lab: Lab) -> None:
    with lab.database.read() as connection:
        statuses = Counter(connection.execute(select(RUNS.c.status)).scalars())
    assert lab.catalog.by_status() == statuses
    assert lab.catalog.count() == statuses.total()


def test_counts_follow_every_change(lab: Lab) -> None:
    _check_counts(lab)
    (claim,) = lab.claim(1)
    _check_counts(lab)
    lab.work.end(claim.run_id, claim.fence, "failed", failure())
    _check_counts(lab)
    lab.experiments.cancel("e0")
    _check_counts(lab)
    lab.submit("again", [claim.run_id, "c" * 20])
    _check_counts(lab)
    kept = [row["id"] for row in lab.catalog.page(3, Filter(kept=True))]
    lab.catalog.void(kept[0])
    lab.catalog.remove(kept[1:])
    _check_counts(lab)


def test_a_transaction_that_fails_counts_nothing(lab: Lab) -> None:
    before = lab.catalog.by_status()
    with pytest.raises(ZeroDivisionError), lab.database.write() as connection:
        connection.execute(RUNS.delete().where(RUNS.c.status == "done"))
        raise ZeroDivisionError
    assert lab.catalog.by_status() == before


def _indexed(database: Database) -> set[tuple[str, str, str]]:
    query = select(WORDS.c.word, RUN_WORDS.c.created_at, RUN_WORDS.c.run_id).join(
        WORDS, WORDS.c.id == RUN_WORDS.c.word_id
    )
    with database.read() as connection:
        return {(word, at, run) for word, at, run in connection.execute(query)}


def test_a_deleted_run_leaves_no_word(lab: Lab) -> None:
    gone = [row["id"] for row in lab.catalog.page(4, Filter(kept=True))]
    assert {run for _, _, run in _indexed(lab.database)} >= set(gone)
    lab.catalog.remove(gone[:3])
    assert lab.catalog.let_go(gone[3]) is None or lab.catalog.status(gone[3]) is not None
    left = {run for _, _, run in _indexed(lab.database)}
    assert not left & set(gone[:3])
    assert left == set(_read_all(lab, Filter()))


def test_a_restored_database_has_the_same_index_and_counts(lab: Lab, tmp_path: Any) -> None:
    other = Database(f"sqlite:///{tmp_path / 'other.sqlite'}")
    lines = list(dump(lab.database))
    assert not any('"table": "words"' in line for line in lines)
    load(other, lines, "the backup", lambda: None)
    assert _indexed(other) == _indexed(lab.database)
    restored = Lab(other)
    _check_counts(restored)
    assert _pages(restored, Filter(text="htcp 20ms")) == _pages(lab, Filter(text="htcp 20ms"))
    other.close()
