"""`make bench-predict`: predictions of drawn transfers, each compared with a whole transfer of another seed.

A draw is a path (rate, round trip, loss, buffer), a congestion control, a number of streams and a size, such that the whole transfer takes
5 to 25 minutes of virtual time. `longhaul predict` answers it as for a user. Then the transfer runs as a whole, with a seed that the
prediction did not use, and ends when its streams have received the size together. Counted are the draws with a steady state: how
often the interval holds the time, and what the prediction's runs took as a share of the whole transfer's. The others are listed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longhaul.laboratory.predictions import Runs
from longhaul.orchestrator.analysis.prediction.question import Question, ask
from longhaul.orchestrator.analysis.prediction.rounds import (
    Candidate,
    first_run,
    predict_candidate,
    transfer_experiment,
)
from longhaul.orchestrator.plan.lint import loss_bound_packets
from longhaul.orchestrator.system.errors import LonghaulError

CONTROLS = ("cubic", "bbr", "htcp", "reno", "cubic", "bbr", "htcp", "illinois", "scalable", "westwood")
STREAMS = (1, 1, 2, 4, 8)
LOSSES = (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3)
BUFFERS = ("0.2 BDP", "0.5 BDP", "1 BDP", "2 BDP")
# The first number that is judged: constants were chosen with draws below it.
FIRST = 1000
# The seed of the whole transfer; a prediction uses the first few.
_OTHER_SEED = 4711
_WHOLE_SPARE, _MOST_TRIES = 1.25, 4


@dataclass(frozen=True, slots=True)
class Judged:
    """A draw, its prediction and the time of the whole transfer; costs are what was transferred, and processor seconds of guests."""

    number: int
    what: str
    how: str
    why: str
    seconds: float | None
    low_s: float | None
    high_s: float | None
    whole_s: float | None
    cpu_s: float
    whole_cpu_s: float
    virtual_s: float
    share_sent: float

    @property
    def holds(self) -> bool:
        return self.low_s is not None and self.whole_s is not None and self.low_s <= self.whole_s <= (self.high_s or 0)

    @property
    def cpu_share(self) -> float:
        """The processor time of the prediction's runs, their boots included, as a share of that of the whole transfer."""
        return self.cpu_s / self.whole_cpu_s if self.whole_cpu_s else math.nan


def draw(number: int) -> tuple[Question, Candidate]:
    """The transfer of a number."""
    dice = random.Random(number)
    control, streams, loss = dice.choice(CONTROLS), dice.choice(STREAMS), dice.choice(LOSSES)
    rate_bps = round(20e6 * 10 ** dice.random(), -5)
    rtt_ms = round(5 * 30 ** dice.random())
    time_s = dice.uniform(300, 1500)
    path: dict[str, Any] = {
        "bandwidth": f"{rate_bps / 1e6:g} Mbit/s",
        "rtt": f"{rtt_ms} ms",
        "buffer": dice.choice(BUFFERS),
    }
    if loss:
        path["loss"] = loss
    asked = ask(10**6, path, control, (streams,))
    candidate = Candidate(control, streams)
    # A transfer that losses hold below the line's rate is smaller, so that it takes about as long.
    flow = first_run(transfer_experiment(asked, candidate, 1.0, 1)).flows[0]
    bound = loss_bound_packets(flow, loss, rtt_ms / 1e3) if loss else None
    if bound is None and loss and control in ("htcp", "illinois", "westwood"):
        bound = 1.5 * 1.22 / math.sqrt(loss)
    reach_bps = min(rate_bps, streams * bound * 12_000 / (rtt_ms / 1e3)) if bound else rate_bps
    return ask(round(0.9 * reach_bps * time_s / 8), path, control, (streams,)), candidate


def judge(number: int, known: tuple[float, float] | None = None) -> Judged:
    """Predict a draw, and run it, unless the time and the cost of the whole transfer are known."""
    question, candidate = draw(number)
    run = Runs(1, None)
    step = predict_candidate(question, candidate)
    what = f"{candidate.control} x {candidate.streams}, {question.path}, {question.size_bytes / 1e6:.0f} MB"
    try:
        asked = next(step)
        while True:
            (found,) = run([asked.experiment])
            if not isinstance(found, Sequence):
                raise found or AssertionError("it is answered")
            asked = step.send(found)
    except StopIteration as ended:
        outcome = ended.value
    except LonghaulError as error:
        return Judged(number, what, "failed", str(error), None, None, None, None, 0.0, 0.0, 0.0, 0.0)
    time = outcome.completion
    if time is None or outcome.how != "steady":
        return Judged(
            number, what, outcome.how, outcome.why, time and time.seconds, time and time.low_s, time and time.high_s, None, outcome.cpu_s,
            0.0, outcome.virtual_s, outcome.sent_bytes / question.size_bytes,
        )  # fmt: skip
    whole_s, whole_cpu_s = known or _whole(question, candidate, time.seconds, run)
    return Judged(
        number, what, outcome.how, outcome.why, time.seconds, time.low_s, time.high_s, whole_s, outcome.cpu_s, whole_cpu_s,
        outcome.virtual_s, outcome.sent_bytes / question.size_bytes,
    )  # fmt: skip


def _whole(question: Question, candidate: Candidate, about_s: float, run: Runs) -> tuple[float | None, float]:
    """The time and the cost of the whole transfer."""
    length_s = about_s * _WHOLE_SPARE
    for _ in range(_MOST_TRIES):
        (found,) = run([transfer_experiment(question, candidate, length_s, 1, first_seed=_OTHER_SEED)])
        if not isinstance(found, Sequence):
            raise found or AssertionError("it is answered")
        if (time_s := found[0].completion_s(question.size_bytes)) is not None:
            return time_s, found[0].cpu_s * time_s / found[0].length_s
        length_s *= 1.5
    return None, 0.0


def judged(
    numbers: Iterator[int], wanted: int, jobs: int, known: Mapping[int, tuple[float, float]], output: Path | None
) -> list[Judged]:
    """Draws until so many have a steady state."""
    found: list[Judged] = []
    steady = 0
    with ProcessPoolExecutor(jobs) as workers:
        while steady < wanted:
            some = [next(numbers) for _ in range(min(4 * jobs, wanted - steady))]
            for one in workers.map(judge, some, [known.get(number) for number in some]):
                found.append(one)
                if output is not None:
                    output.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")
                steady += one.how == "steady"
                print(_line(one), flush=True)
    return found


def _line(one: Judged) -> str:
    if one.how != "steady" or one.seconds is None or one.low_s is None or one.high_s is None:
        return f"{one.number}: {one.what}: {one.how}, {one.why}"
    whole = "not known" if one.whole_s is None else f"{one.whole_s:.1f}"
    mark = "" if one.holds else "  MISSED"
    return f"{one.number}: {one.what}: {one.seconds:.1f} ({one.low_s:.1f} to {one.high_s:.1f}), whole {whole}, cost {one.share_sent:.3f} ({one.cpu_share:.2f}){mark}"


def main() -> int:
    """Judge draws and print the counts; exit code 1 if too few intervals hold, or predictions cost too much."""
    parser = argparse.ArgumentParser(prog="make bench-predict", description=__doc__)
    parser.add_argument("--draws", type=int, default=100, help="transfers with a steady state")
    parser.add_argument("--first", type=int, default=FIRST, help="the number of the first draw")
    parser.add_argument("--jobs", type=int, default=2, help="draws at a time")
    parser.add_argument("--output", type=Path, help="write every draw as JSON")
    parser.add_argument(
        "--known", type=Path, help="take the times of whole transfers from the output of an earlier try"
    )
    options = parser.parse_args()
    known: dict[int, tuple[float, float]] = {}
    if options.known is not None:
        rows = json.loads(options.known.read_text())
        known = {row["number"]: (row["whole_s"], row["whole_cpu_s"]) for row in rows if row["whole_s"] is not None}
    numbers = iter(range(options.first, options.first + 100 * options.draws))
    found = judged(numbers, options.draws, options.jobs, known, options.output)
    steady = [one for one in found if one.how == "steady"]
    holds = sum(one.holds for one in steady)
    costs = sorted(one.share_sent for one in steady)
    times = sorted(one.cpu_share for one in steady if one.whole_cpu_s)
    widths = sorted(
        (one.high_s - one.low_s) / 2 / one.seconds
        for one in steady
        if one.seconds and one.high_s and one.low_s is not None
    )
    print(f"{holds} of {len(steady)} intervals hold the time of the whole transfer")
    for what, values in (("bytes transferred", costs), ("processor time with boots", times or [math.nan])):
        print(
            f"{what}: median {statistics.median(values):.1%} of the whole transfer's, 90th percentile {values[len(values) * 9 // 10]:.1%}"
        )
    print(f"half width: median {statistics.median(widths):.1%}, 90th percentile {widths[len(widths) * 9 // 10]:.1%}")
    print(f"{len(found) - len(steady)} more draws had no steady state")
    return 0 if holds >= 0.9 * len(steady) and statistics.median(costs) <= 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
