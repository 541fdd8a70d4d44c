"""A run in several guests has the trace of the same run in one, also on a busy machine and with guests that are stopped and continued."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from tests.support.folders import REPOSITORY
from tests.support.guests import experiment, kernels

DRAWS = REPOSITORY / "tests" / "data" / "bpf" / "rounds"
CONTROLS = [name for name in CONGESTION_CONTROLS if name != "lhfixed"]
SEVERAL: dict[str, dict[str, Any]] = {
    "round trips": {"flows": [{"name": f"f{rtt}", "cc": cc, "rtt": f"{rtt} ms"} for rtt, cc in ((40, "cubic"), (55, "bbr"), (70, "htcp"))]},
    "many hosts": {"flows": [{"name": f"f{rtt}", "cc": "cubic", "rtt": f"{rtt} ms"} for rtt in range(40, 80)]},
    "flows of one host": {"flows": [{"name": "f", "cc": "cubic", "count": 20}], "start_jitter": "1 RTT"},
    "jitter": {"path": {"jitter": "2 ms"}, "flows": [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "reno", "rtt": "60 ms"}]},
    "marks": {"path": {"queue": "codel", "ecn": "on"}, "flows": [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "dctcp", "rtt": "60 ms"}]},
    "chances": {"path": {"queue": "pie"}, "flows": [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "cubic", "rtt": "60 ms"}]},
    "other traffic": {
        "flows": [
            {"name": "a", "cc": "cubic"},
            {"name": "web", "web": {"mean": "100 KB", "think": "500 ms"}, "count": 3},
            {"name": "bursts", "on_off": {"rate": "20 Mbit/s", "on": "300 ms", "off": "300 ms"}},
            {"name": "b", "cc": "reno", "rtt": "60 ms"},
        ]
    },
    "changes": {
        "flows": [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "cubic", "rtt": "60 ms", "stop": "3 s"}],
        "schedule": [{"at": "1 s", "path": {"bandwidth": "30 Mbit/s"}}, {"at": "2 s", "flows": {"b": {"cc": "reno"}}}],
    },
}  # fmt: skip


def run(pipeline: Pipeline, parts: int, **fields: Any) -> RunDocument:
    fresh = Pipeline(pipeline.backend, pipeline.store, use_cache=False)
    (document,) = fresh.execute(compile_plan(experiment(**fields, parts=parts)))
    assert document["status"] == "done", document
    assert document.get("parts", 1) == parts
    return document


@pytest.mark.parametrize("cc", CONTROLS)
def test_every_control_has_the_trace_of_one_guest(pipeline: Pipeline, cc: str) -> None:
    flows = [{"name": "one", "cc": cc}]
    one, two = (run(pipeline, parts, flows=flows, duration="3 s") for parts in (1, 2))
    assert one["run"] == two["run"]
    assert one["trace_sha256"] == two["trace_sha256"]


@pytest.mark.parametrize("name", SEVERAL)
def test_several_hosts_have_the_trace_of_one_guest(pipeline: Pipeline, name: str) -> None:
    fields = SEVERAL[name]
    most = 2 if name == "flows of one host" else 3
    assert len({run(pipeline, parts, **fields, duration="4 s")["trace_sha256"] for parts in range(1, most + 1)}) == 1


def test_a_users_control_that_draws_has_the_acknowledgements_of_one_guest(pipeline: Pipeline) -> None:
    fields = {"modules": [str(DRAWS)], "flows": [{"name": "one", "cc": "rounds", "count": 2}], "duration": "4 s"}
    one, two = (run(pipeline, parts, **fields) for parts in (1, 2))
    # Its variables would be of all hosts in a guest.
    assert one["run"] != two["run"]
    acks = [pipeline.store.trace(document["run"]).acks for document in (one, two)]
    assert len(acks[0]) > 1000 and (acks[0] == acks[1]).all()


def test_losses_behind_the_wire_leave_the_acknowledgements_as_they_are(pipeline: Pipeline) -> None:
    one, two = (run(pipeline, parts, path={"loss": 1e-3}) for parts in (1, 2))
    assert one["run"] != two["run"]
    acks = [pipeline.store.trace(document["run"]).acks for document in (one, two)]
    assert len(acks[0]) > 1000 and (acks[0] == acks[1]).all()


def test_guests_that_are_stopped_and_continued_change_nothing(pipeline: Pipeline) -> None:
    fields = SEVERAL["round trips"]
    undisturbed = run(pipeline, 3, **fields)["trace_sha256"]
    with disturbed(pipeline.store.home, seed=1) as stops:
        assert {run(pipeline, 3, **fields)["trace_sha256"] for _ in range(3)} == {undisturbed}
    assert stops[0] > 3


def test_parts_without_processors_of_their_own_have_the_same_trace(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = run(pipeline, 2)["trace_sha256"]
    only = min(os.sched_getaffinity(0))
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {only})
    assert run(pipeline, 2)["trace_sha256"] == free


@pytest.mark.default_kernel
@pytest.mark.parametrize(("sender", "receiver"), list(itertools.permutations(ORDINARY_KERNELS)))
def test_a_sender_and_its_receiver_have_different_kernels(pipeline: Pipeline, sender: str, receiver: str) -> None:
    fields: dict[str, Any] = {"kernel": receiver, "path": {"bandwidth": "50 Mbit/s"}, "duration": "3 s"}
    alike = run(pipeline, 2, **fields)
    mixed, again = (run(pipeline, 2, **fields, nodes={"a1": {"kernel": sender}}) for _ in range(2))
    assert mixed["trace_sha256"] == again["trace_sha256"]
    assert mixed["run"] != alike["run"]
    assert [release.rpartition(".")[0] for release in mixed["kernel"].split(", ")] == [sender, receiver]


@contextmanager
def disturbed(home: Path, seed: int) -> Iterator[list[int]]:
    """Stops a guest in this home for a moment, again and again; the list has the number of stops."""
    draws, over, stops = random.Random(seed), threading.Event(), [0]

    def disturb() -> None:
        while not over.wait(draws.uniform(0.01, 0.05)):
            if running := kernels(home):
                pid = draws.choice(running)
                try:
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep(draws.uniform(0.01, 0.1))
                    os.kill(pid, signal.SIGCONT)
                    stops[0] += 1
                except ProcessLookupError:
                    continue

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield stops
    finally:
        over.set()
        thread.join()
