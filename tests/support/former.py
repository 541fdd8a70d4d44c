"""A lab of an earlier version, as test data: how it was made, and the requests that are repeated.

    tests/data/former/home.tar.xz       a home: kept runs, the log of a failed one, and its catalogue in SQLite
    tests/data/former/record.sql        the same lab's database in PostgreSQL, as `pg_dump --inserts` wrote it
    tests/data/former/answers.json.xz   what that version answered about both, and the tokens that it gave out
    tests/data/former/mine/             the module that a user supplied

That version is commit 34dca4d, the last one whose packages had other import names. Its service ran the experiments below with the database in
PostgreSQL; then its command line and its service did the same with SQLite, in the same home. To record another version, where formulas or the
form of runs have changed on purpose (root: the recorded host name is `lab`; PostgreSQL: `./setup.sh service`):

    git worktree add ../former COMMIT && make -C ../former .venv/.stamp agent
    unshare --uts sh -c 'hostname lab && exec .venv/bin/python -m tests.support.former ../former'
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psycopg

from longhaul.orchestrator.spec.user_code.module_sources import read_sources
from tests.support.folders import DATA
from tests.support.parts import Postgres
from tests.support.programs import run_program
from tests.support.service import ROOT, Service

FORMER = DATA / "former"
HOME, RECORD, ANSWERS, MINE = (FORMER / name for name in ("home.tar.xz", "record.sql", "answers.json.xz", "mine"))

PAIR: dict[str, Any] = {
    "experiment": "former-pair",
    "about": "Two congestion controls on a slow path.",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP"},
    "flows": [{"name": "app", "cc": "cubic"}],
    "duration": "1 s",
    "sweep": {"flows.app.cc": ["cubic", "reno"]},
    "expect": [{"measure": "goodput", "flow": "app", "at_least": "1 Mbit/s"}],
}

# A plan of that time: since then, a plain link is one qdisc.
THEN = {"emulation": "chain"}

WAITING_SEED = 3
NO_SCHEDULER = {"LONGHAUL_DASK": "tcp://127.0.0.1:1"}


def with_module(modules: str, window: int) -> dict[str, Any]:
    """An experiment with the user-supplied module; with a window of 13 packets its guest dies."""
    flow = {"name": "app", "cc": "mine", "params": {"cwnd": f"{window} packets"}}
    plain = {name: value for name, value in PAIR.items() if name not in ("sweep", "expect")}
    return plain | {"experiment": f"former-mine-{window}", "modules": [modules], "flows": [flow]}


def unpack_home(folder: Path) -> Path:
    """Unpack the home as that version left it."""
    with tarfile.open(HOME) as archive:
        archive.extractall(folder, filter="data")
    return folder / "lab"


def restore_record(url: str) -> None:
    """Fill an empty PostgreSQL database with the rows that that version left."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(RECORD.read_bytes())


def recorded_answers() -> dict[str, Any]:
    """The responses of that version."""
    found: dict[str, Any] = json.loads(lzma.decompress(ANSWERS.read_bytes()))
    return found


def ask_service(service: Service) -> dict[str, Any]:
    """The responses of a service about its lab: every list, run, experiment and file, by address."""
    with service.client("admin") as client:

        def ask(path: str) -> Any:
            answer = client.get(f"{ROOT}{path}")
            if answer.status_code != 200:
                return [answer.status_code]
            if answer.headers["content-type"].partition(";")[0].endswith("json"):
                return [200, answer.json()]
            if path.endswith("/junit"):
                cases = ElementTree.fromstring(answer.text).iter("testcase")
                return [200, [[case.get("name"), [part.tag for part in case]] for case in cases]]
            text = path.endswith(("/events", "/log.txt"))
            return [200, answer.text if text else hashlib.sha256(answer.content).hexdigest()]

        runs, experiments = (sorted(ask(path)[1]["items"], key=itemgetter("id")) for path in ("/runs", "/experiments"))
        paths = ["/runs", "/runs?status=failed", "/runs?cc=reno&text=former", "/runs?pinned=true", "/experiments"]
        paths += ["/experiments?text=pair", "/baselines", "/tokens"]
        of_run = (
            "",
            "/verification",
            "/outline",
            "/series?measure=cwnd&flow=app",
            "/files",
            "/files/acks.csv",
            "/files/log.txt",
        )
        of_experiment = ("", "/summary", "/junit")
        for noun, rows, parts in (("runs", runs, of_run), ("experiments", experiments, of_experiment)):
            for row in rows:
                # The events of a waiting run have no end.
                events = () if row["status"] == "queued" else ("/events",)
                paths += [f"/{noun}/{row['id']}{part}" for part in (*parts, *events)]
        kept = [row["id"] for row in runs if ask(f"/runs/{row['id']}/files/manifest.json")[0] == 200]
        paths += [f"/comparisons?a={kept[0]}&b={other}&gate=goodput(app)" for other in kept[1:]]
        return {path: ask(path) for path in paths}


def ask_command_line(longhaul: Callable[..., subprocess.CompletedProcess[str]], failed: str) -> dict[str, Any]:
    """The output of the command line about a home: every run in every form, and the log of the one that failed."""

    def ask(*words: str) -> Any:
        done = longhaul(*words)
        return [done.returncode, json.loads(done.stdout) if "--json" in words else done.stdout]

    def exported(run: str, form: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            done = longhaul("export", run, "--to", form, "-o", f"{folder}/files")
            files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
            return [done.returncode, {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}]

    answers = {"list runs --json": ask("list", "runs", "--json"), f"log {failed}": ask("log", failed)}
    runs = sorted(row["id"] for row in answers["list runs --json"][1])
    for run in runs:
        for words in (["show", run, "--json"], ["verify", run, "--json"], ["log", run]):
            answers[" ".join(words)] = ask(*words)
        for form in ("csv", "parquet", "json"):
            answers[f"export {run} --to {form}"] = exported(run, form)
    for other in runs[1:]:
        words = ["compare", runs[0], other, "--json"]
        answers[" ".join(words)] = ask(*words)
    return answers


def same(then: Any, now: Any, where: str = "") -> Iterator[str]:
    """Differences of today's response from that version's; additions are allowed."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name, value in then.items():
            # Another machine may have other programs, and texts for people may improve.
            if name in ("other_programs", "notes"):
                continue
            if name not in now:
                yield f"{where}.{name} is gone"
            else:
                yield from same(value, now[name], f"{where}.{name}")
    elif isinstance(then, list) and isinstance(now, list) and then and _is_row(then[0]):
        # The rows of a table of measures may get another order.
        rows = {_about(row): row for row in now}
        for row in then:
            yield from same(row, rows.get(_about(row)), f"{where}{list(_about(row))}")
    elif where.endswith("/files[1]") and isinstance(then, list) and isinstance(now, list):
        if missing := [name for name in then if name not in now]:
            yield f"{where}: {', '.join(missing)} is gone"
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for place, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from same(one, other, f"{where}[{place}]")
    elif then != now or type(then) is not type(now):
        yield f"{where}: {then!r} then, {now!r} now"


def _is_row(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "measure" in entry


def _about(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(name)) for name in ("measure", "flow", "phase", "point", "of"))


def rows_of(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of a lab's tables, sorted; without the tables in which a running service describes itself."""
    tables = (
        "runs",
        "documents",
        "measures",
        "experiments",
        "experiment_runs",
        "events",
        "work",
        "tokens",
        "baselines",
    )
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.partition(":///")[2])) as lite:
            return {table: _rows(lite.execute(f"SELECT * FROM {table}")) for table in tables}
    with psycopg.connect(url) as connection:
        return {table: _rows(connection.execute(f"SELECT * FROM {table}")) for table in tables}


# Columns that a migration derives from others.
_DERIVED = {"identity", "measured", "goodput_bps", "rtt_mean_ms", "loss_ratio"}


def _rows(found: Any) -> list[tuple[Any, ...]]:
    places = [place for place, column in enumerate(found.description) if column[0] not in _DERIVED]
    return sorted((tuple(row[place] for place in places) for row in found.fetchall()), key=repr)


def record(checkout: Path) -> None:
    """Make the test data with another version's programs."""
    program = checkout.resolve() / ".venv" / "bin" / "longhaul"
    source, files = read_sources(str(MINE))
    with tempfile.TemporaryDirectory(prefix="longhaul-former-") as name:
        folder = Path(name)
        # Packages of this checkout must not be imported in place of that one's.
        os.chdir(folder)
        home = folder / "lab"
        answers: dict[str, Any] = {"module": source}
        postgres = Postgres(folder)
        postgres.start()
        try:
            url = postgres.create("former")
            settings = {"LONGHAUL_DATABASE": url, "LONGHAUL_USER_CODE": "on", "LONGHAUL_JOBS": "1"}
            with serving(Service(home, settings, program=[program])) as service:
                _fill(service, source, files)
                tokens = service.tokens
            # A cluster without a scheduler: submitted runs wait.
            with serving(Service(home, settings | NO_SCHEDULER, program=[program], tokens=tokens)) as service:
                waiting = service.submit({"spec": PAIR, "seed": WAITING_SEED})["id"]
                answered = {"tokens": tokens, "waiting": waiting, "answers": ask_service(service)}
            answers["postgresql"] = answered
            RECORD.write_text(_dumped(postgres, "former"))
        finally:
            postgres.stop()
        answers["sqlite"] = _with_sqlite(program, home, folder)
        ANSWERS.write_bytes(lzma.compress(json.dumps(answers, sort_keys=True).encode(), preset=9))
        _pack(home)


@contextlib.contextmanager
def serving(service: Service) -> Iterator[Service]:
    """Run the service while it gets requests."""
    service.start()
    try:
        yield service
    finally:
        service.stop()


def _fill(service: Service, source: str, files: Mapping[str, str]) -> None:
    """Make experiments with every outcome, tokens of every scope, baselines, a pin, a rerun."""
    for name, scope in (("reader", "read"), ("ada", "run"), ("ci", "gate"), ("gone", "run")):
        service.tokens[name] = service.make_token(name, scope)
    service.tokens |= {"read": service.tokens["reader"], "run": service.tokens["ada"], "gate": service.tokens["ci"]}
    with service.client("admin") as admin:
        assert admin.delete(f"{ROOT}/tokens/gone").status_code == 200
    first = service.wait(service.submit({"spec": PAIR})["id"])
    assert first["status"] == "done", first
    with service.client("run") as ada:
        again = ada.post(f"{ROOT}/experiments", json={"spec": PAIR}, headers={"Idempotency-Key": "nightly"})
        assert again.json()["progress"]["cached"] == 2, again.text
    with service.programs_client("admin") as admin_client:
        admin_client.send_module(source, files)
    for window, end in ((20, "done"), (13, "failed")):
        made = service.wait(service.submit({"spec": with_module(f"sha256:{source}", window)}, "admin")["id"])
        assert made["status"] == end, made
    baselines = (("gate", "main", first["id"]), ("run", "feature/pacing", again.json()["id"]))
    for scope, branch, experiment in baselines:
        with service.client(scope) as setter:
            put = setter.put(f"{ROOT}/baselines/{PAIR['experiment']}/{branch}", json={"experiment_id": experiment})
            assert put.status_code == 200, put.text
    runs = [href.rpartition("/")[2] for href in first["runs"]]
    with service.client("run") as ada:
        assert ada.put(f"{ROOT}/runs/{runs[0]}/pin").status_code == 204
        rerun = ada.post(f"{ROOT}/runs/{runs[1]}/rerun")
    assert service.wait(rerun.json()["id"])["status"] == "done"


def _with_sqlite(program: Path, home: Path, folder: Path) -> dict[str, Any]:
    """The same home with SQLite: responses from kept runs, runs of another seed, and a service for a while."""

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"LONGHAUL_HOME": str(home)}
        return run_program([program, *words], env=environment)

    def longhaul(*words: str, ends: int = 0) -> str:
        done = command(*words)
        assert done.returncode == ends, done.stderr
        return done.stdout

    file = folder / "pair.json"
    file.write_text(json.dumps(PAIR))
    shutil.copytree(MINE, folder / "mine")
    mine = folder / "mine.json"
    mine.write_text(json.dumps(with_module("./mine", 20)))
    for answered in (file, mine):
        assert all(one["cached"] for one in json.loads(longhaul("run", str(answered), "--json"))["runs"])
    made = json.loads(longhaul("run", str(file), "--seed", "2", "--json"))["runs"]
    assert [one["cached"] for one in made] == [False, False]
    mine.write_text(json.dumps(with_module("./mine", 13) | {"seed": 2}))
    failed = json.loads(longhaul("run", str(mine), "--json", ends=4))["runs"]
    longhaul("pin", made[0]["run"])
    with serving(Service(home, program=[program])) as service:
        for scope in ("read", "run", "gate"):
            service.tokens[scope] = service.make_token(f"{scope}er", scope)
        experiment = service.submit({"spec": PAIR, "seed": 2})
        assert experiment["progress"]["cached"] == 2, experiment
        with service.client("gate") as setter:
            request = {"experiment_id": experiment["id"]}
            assert setter.put(f"{ROOT}/baselines/{PAIR['experiment']}/main", json=request).status_code == 200
        answers, tokens = ask_service(service), service.tokens
    return {
        "tokens": tokens,
        "answers": answers,
        "command line": ask_command_line(command, failed[0]["run"]),
        "failed": failed[0]["run"],
    }


def _dumped(postgres: Postgres, database: str) -> str:
    words = [
        "--inserts",
        "--no-owner",
        "--no-privileges",
        "-h",
        "127.0.0.1",
        "-p",
        str(postgres.port),
        "-U",
        "longhaul",
    ]
    dumped = run_program([str(postgres.programs / "pg_dump"), *words, database], check=True).stdout
    # psql's own commands, and settings that other versions do not know.
    lines = [line for line in dumped.splitlines() if not re.match(r"\\|SET |--|$", line)]
    return "\n".join(lines) + "\n"


def _pack(home: Path) -> None:
    """The home without what belongs to processes that have ended."""
    with contextlib.closing(sqlite3.connect(home / "catalogue.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = ("runs", "logs", "catalogue.sqlite")

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(HOME, "w:xz", preset=9) as archive:
        for name in kept:
            archive.add(home / name, f"lab/{name}", filter=plain)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
