"""A running run's samples for pages: each once, in the order of time, for every reader and any reading pattern."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhaul.api.lab import Lab
from longhaul.api.streams.live_run import Watchers
from longhaul.orchestrator.live.downsampling import Downsampler, Samples
from longhaul.orchestrator.live.downsampling import joined as joined_samples
from longhaul.orchestrator.live.live_series import LINK_SERIES, SHOWN, Key, SettledSamples, Step, cell_of
from longhaul.orchestrator.live.watching import GrowingRun, folder_of
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES
from tests.support.queue import Lab as Queue
from tests.support.recordings import RUNS, plain_run, recorded
from tests.support.waiting import wait_for

RUN_ID = "0123456789abcdef0123"
Points = dict[Key, list[tuple[int, float]]]


def points(steps: list[Step]) -> Points:
    found: Points = {}
    for step in steps:
        for key, (ms, values) in step.series.items():
            found.setdefault(key, []).extend(zip(ms.tolist(), values.tolist(), strict=True))
    return found


def all_at_once(name: str) -> Points:
    """The samples that a page should have of a recorded run at its end, by the rule of samples."""
    run, trace, _ = recorded(name)
    downsampler = Downsampler(run, RUN_ID, cell_of(run))
    found: Points = {}
    for (metric, number), one in joined_samples([*downsampler.feed(trace), *downsampler.finish()]).items():
        if metric in SHOWN:
            series, scale = SHOWN[metric]
            values = one.bits[:-1].view(np.float64) * scale
            found[series, number] = list(zip(one.ms[:-1].tolist(), values.tolist(), strict=True))
    return found


class Making:
    """A folder in which a recorded run is made, a piece at a time."""

    def __init__(self, folder: Path, name: str) -> None:
        self.run: Run = recorded(name)[0]
        self.content = (RUNS / name / "trace.bin").read_bytes()
        self.folder = folder / "staging" / "1-ab" / f"{RUN_ID}-0badcafe"
        self.folder.mkdir(parents=True)
        (self.folder / "trace.bin").write_bytes(self.content[:HEADER_BYTES])

    def watch(self, samples: SettledSamples) -> GrowingRun:
        return GrowingRun(self.run, RUN_ID, self.folder, [self.folder / "trace.bin"], samples)

    def grow_to(self, share: float) -> None:
        records = (len(self.content) - HEADER_BYTES) // RECORD_BYTES
        end = HEADER_BYTES + int(records * share) * RECORD_BYTES
        with (self.folder / "trace.bin").open("r+b") as file:
            file.seek(0, 2)
            file.write(self.content[file.tell() : end])


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), max_size=8), st.lists(st.integers(1, 2000), min_size=1, max_size=6))
def test_every_sample_is_delivered_once_in_any_pieces(
    tmp_path_factory: pytest.TempPathFactory, shares: list[float], lengths: list[int]
) -> None:
    making = Making(tmp_path_factory.mktemp("home"), "lossy_pair")
    samples = SettledSamples()
    growing = making.watch(samples)
    steps: list[Step] = []
    position_ms = 0

    def ask(longest_ms: int) -> None:
        nonlocal position_ms
        while (step := samples.since(position_ms, longest_ms)) is not None:
            assert step.begin_ms == position_ms < step.end_ms
            for ms, _ in step.series.values():
                assert (ms >= step.begin_ms).all() and (ms < step.end_ms).all()
            steps.append(step)
            position_ms = step.end_ms

    for number, share in enumerate(sorted(shares)):
        making.grow_to(share)
        assert growing.look()
        ask(lengths[number % len(lengths)])
    making.grow_to(1)
    assert growing.look()
    shutil.rmtree(making.folder)
    assert not growing.look()
    growing.finish(whole=True)
    growing.close()
    ask(10**9)
    assert points(steps) == all_at_once("lossy_pair")


def test_another_reader_continues_exactly_where_the_first_one_was(tmp_path: Path) -> None:
    """The service is restarted in the middle of the run."""
    making = Making(tmp_path, "lossy_pair")
    first, second = SettledSamples(), SettledSamples()
    growing = making.watch(first)
    making.grow_to(0.5)
    growing.look()
    growing.close()
    before = first.since(0, 10**9)
    assert before is not None
    again = making.watch(second)
    making.grow_to(1)
    again.look()
    again.finish(whole=True)
    after = second.since(before.end_ms, 10**9)
    assert after is not None
    assert points([before, after]) == all_at_once("lossy_pair")
    again.close()


def test_a_restarted_guest_delivers_no_sample_twice(tmp_path: Path) -> None:
    making = Making(tmp_path, "lossy_pair")
    samples = SettledSamples()
    growing = making.watch(samples)
    making.grow_to(0.6)
    growing.look()
    front_ms = samples.front_ms
    assert front_ms > 0
    (making.folder / "trace.bin").unlink()
    (making.folder / "trace.bin").write_bytes(making.content[:HEADER_BYTES])
    growing.look()
    making.grow_to(0.3)
    growing.look()
    assert samples.front_ms == front_ms
    making.grow_to(1)
    growing.look()
    growing.finish(whole=True)
    whole = samples.since(0, 10**9)
    assert whole is not None
    assert points([whole]) == all_at_once("lossy_pair")
    growing.close()


def test_in_real_time_a_second_attempt_has_another_name(tmp_path: Path) -> None:
    making = Making(tmp_path, "real_clock")
    samples = SettledSamples()
    growing = making.watch(samples)
    first = samples.attempt
    making.grow_to(0.9)
    growing.look()
    assert samples.front_ms > 0
    (making.folder / "trace.bin").unlink()
    (making.folder / "trace.bin").write_bytes(making.content[:HEADER_BYTES])
    growing.look()
    assert samples.attempt != first
    assert samples.since(0, 10**9) is None
    growing.close()


def test_the_samples_of_a_run_that_broke_off_are_delivered(tmp_path: Path) -> None:
    making = Making(tmp_path, "lossy_pair")
    samples = SettledSamples()
    growing = making.watch(samples)
    making.grow_to(0.5)
    growing.look()
    shutil.rmtree(making.folder)
    growing.look()
    growing.finish(whole=False)
    whole = samples.since(0, 10**9)
    assert whole is not None
    expected = all_at_once("lossy_pair")
    for key, some in points([whole]).items():
        assert some == expected[key][: len(some)] or key[0] not in ("cwnd", "goodput")
    growing.close()


@pytest.mark.parametrize(
    ("seconds", "flows", "cell_ms"), [(5, 2, 100), (600, 2, 100), (3600, 2, 1000), (60, 50, 100), (600, 50, 1000)]
)
def test_a_page_gets_as_much_as_it_can_draw(seconds: int, flows: int, cell_ms: int) -> None:
    run = plain_run(duration=f"{seconds} s", flows=[{"name": "a", "cc": "cubic", "count": flows}])
    assert cell_of(run) == cell_ms


def test_the_newest_folder_of_a_run_is_its(tmp_path: Path) -> None:
    assert folder_of(tmp_path, RUN_ID) is None
    making = Making(tmp_path, "lossy_pair")
    assert folder_of(tmp_path, RUN_ID) == making.folder
    assert folder_of(tmp_path, "f" * 20) is None


def test_series_of_links_are_distinguished_from_series_of_flows() -> None:
    of_links = {series for metric, (series, _) in SHOWN.items() if metric.startswith("longhaul_link_")}
    assert of_links == set(LINK_SERIES)


def test_samples_of_other_metrics_are_left_out() -> None:
    samples = SettledSamples()
    ms, bits = np.array([5]), np.array([1.0]).view(np.uint64)
    samples.add([Samples(("longhaul_run_info", 0), ms, bits)], 100)
    step = samples.since(0, 1000)
    assert step is not None and not step.series


def test_a_run_that_cannot_be_watched_delays_no_page(tmp_path: Path) -> None:
    """The queue has an invalid run: after any error, its end is reported."""
    lab = Lab(replace(load_settings(), home=tmp_path, database=""))
    queue, key = Queue(lab.store.database), "f" * 20
    queue.submit("e", [key])
    queue.claim()

    with Watchers(lab).joined(key) as watch:
        wait_for(lambda: watch.state == "starting", 20, lambda: watch.state)
        queue.keep(key)
        wait_for(lambda: watch.ended, 20, lambda: watch.state)
    assert watch.state == "done"
    lab.close()
