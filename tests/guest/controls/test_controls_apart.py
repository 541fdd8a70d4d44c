"""Every congestion control differs from Reno: one known answer of its law, on the smallest path that shows it.

Controls that differ in the window that they keep after a random loss share one wide path without a queue. Laws that depend on a
queue are measured alone on a slow path. The last test compares this file with the catalogue.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from tests.guest.windows import Reduction, at, between, reductions
from tests.support.guests import Finished, Runner

# With random losses and an empty queue: the kept share of the window, and the range of windows in packets for which it holds.
KEPT: dict[str, tuple[float, int, int]] = {
    "reno": (1 / 2, 20, 10_000),
    "cubic": (717 / 1024, 20, 10_000),
    "bic": (819 / 1024, 20, 10_000),
    "highspeed": (1 - 112 / 256, 60, 118),  # the second row of RFC 3649's table
    "scalable": (7 / 8, 20, 10_000),
    "veno": (4 / 5, 20, 10_000),
    "illinois": (7 / 8, 20, 10_000),
    "yeah": (7 / 8, 20, 10_000),
    "agilesd": (0.95, 40, 10_000),
}
TESTED_BELOW = {
    "westwood",
    "htcp_be",
    "lhfixed",
    "apptcp",
    "htcp",
    "compound",
    "hybla",
    "vegas",
    "nv",
    "cdg",
    "bbr",
    "dctcp",
    "lp",
}
IN_TEST_CCP = {"ccp", "ccpd"}

SLOW = {"bandwidth": "20 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"}


def flow(cc: str, **more: object) -> dict[str, object]:
    return {"name": cc.replace("_", "-"), "cc": cc, **more}


@pytest.fixture(scope="module")
def lossy(finish: Runner) -> Callable[[], tuple[Finished, list[str]]]:
    """One packet in 500 lost on a path that is never full, shared by all controls that react to a loss."""
    names = [*KEPT, "westwood", "htcp_be", "lhfixed", "apptcp"]
    params = {"lhfixed": {"cwnd": "30 packets"}, "apptcp": {"rate": "8.6 Mbit/s"}}

    @functools.cache
    def run() -> tuple[Finished, list[str]]:
        done = finish(
            path={"bandwidth": "2 Gbit/s", "rtt": "40 ms", "loss": 2e-3},
            flows=[flow(name, **({"params": params[name]} if name in params else {})) for name in names],
            duration="24 s",
            warmup="2 s",
        )
        return done, names

    return run


def late(done: Finished, number: int, least: int, most: int = 10_000) -> list[Reduction]:
    """Reductions of windows in this range, after slow start and well before the end."""
    return [one for one in reductions(done.trace, number) if 2 < one.t_s < 23.8 and least <= one.before <= most]


@pytest.mark.parametrize("cc", KEPT)
def test_a_random_loss_costs_the_share_of_the_law(lossy: Callable[[], tuple[Finished, list[str]]], cc: str) -> None:
    done, names = lossy()
    share, least, most = KEPT[cc]
    found = late(done, names.index(cc), least, most)
    assert found
    median = float(np.median([one.kept for one in found]))
    assert median == pytest.approx(share, abs=0.02)
    if cc != "reno":
        assert abs(median - 1 / 2) > 0.04


def test_westwood_and_htcp_be_return_to_their_bandwidth(lossy: Callable[[], tuple[Finished, list[str]]]) -> None:
    done, names = lossy()

    def kept_later(cc: str) -> float:
        number = names.index(cc)
        return float(
            np.median([at(done.trace, one.t_s + 0.1, flow=number) / one.before for one in late(done, number, 20)])
        )

    assert kept_later("reno") < 0.65
    assert kept_later("westwood") > 0.8
    assert kept_later("htcp_be") > 0.8


def test_lhfixed_and_apptcp_ignore_loss(lossy: Callable[[], tuple[Finished, list[str]]]) -> None:
    done, names = lossy()
    windows = between(done.trace, 2, 24, flow=names.index("lhfixed"))
    assert windows.mean() == pytest.approx(30, abs=0.5)
    required = done.document["flows"][names.index("apptcp")]
    assert required["goodput_bps"] == pytest.approx(8.6e6, rel=0.03)


def test_steps_between_losses(finish: Runner) -> None:
    """Packets gained in a round trip, three to four seconds after the last loss, on an empty path: Reno one at most."""
    names = ["reno", "htcp", "compound"]
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "100 ms"},
        flows=[flow(name) for name in names],
        duration="6 s",
        warmup="4 s",
        schedule=[{"at": "500 ms", "path": {"loss": 0.05}}, {"at": "600 ms", "path": {"loss": 0}}],
        sample="10 ms",
    )
    assert done.document["path"]["queue_packets"]["max"] < 100
    gained = [0.1 * (at(done.trace, 5.9, flow=n) - at(done.trace, 4.9, flow=n)) for n in range(len(names))]
    began = [reductions(done.trace, n)[-1].t_s for n in range(len(names))]
    window = at(done.trace, 5.4, flow=2)
    assert gained[0] <= 1.05
    since = 5.4 - began[1]
    assert gained[1] == pytest.approx(1 + 10 * (since - 1) + ((since - 1) / 2) ** 2, rel=0.4)
    assert gained[2] == pytest.approx(window**0.75 / 8, rel=0.2)


def test_hybla_is_as_fast_as_at_its_reference_round_trip(finish: Runner) -> None:
    rates = {
        cc: finish(
            path={"bandwidth": "100 Mbit/s", "rtt": "100 ms", "loss": 1e-3},
            flows=[flow(cc)],
            duration="25 s",
            warmup="5 s",
            sample="10 ms",
        ).document["flows"][0]["goodput_bps"]
        for cc in ("reno", "hybla")
    }
    # Four times Reno's rate if each segment were acknowledged; with delayed ACKs Linux's Hybla reaches 0.7 of that.
    assert 2.2 < rates["hybla"] / rates["reno"] < 4.2


@pytest.mark.parametrize(
    ("cc", "least", "most"),
    # Reno fills 2 BDP, 132 packets. Vegas: alpha to beta, plus the effect of a delayed ACK; NV: around its nv_pad plus a burst.
    [("reno", 60, 132), ("vegas", 2, 6), ("nv", 10, 45), ("cdg", 1, 30)],
)
def test_delay_ends_growth_before_loss(finish: Runner, cc: str, least: float, most: float) -> None:
    done = finish(path=SLOW, flows=[flow(cc)], duration="20 s", warmup="10 s")
    queue = done.document["path"]["queue_packets"]
    assert least <= queue["mean"] <= most
    assert (len(done.trace.drops) > 0) == (cc == "reno")
    assert done.document["flows"][0]["goodput_bps"] > 16e6


def test_bbr_fills_the_path_despite_loss(finish: Runner) -> None:
    reno, bbr = (
        finish(path=SLOW | {"loss": 0.01}, flows=[flow(cc)], duration="8 s", warmup="2 s", sample="10 ms").document[
            "flows"
        ][0]["goodput_bps"]
        for cc in ("reno", "bbr")
    )
    assert reno < 8e6
    assert bbr > 18.5e6


def test_dctcp_reduces_its_window_by_the_marked_share(finish: Runner) -> None:
    path = {"bandwidth": "100 Mbit/s", "rtt": "10 ms", "buffer": "2 BDP", "ecn": "on", "queue": "step"}
    reno, dctcp = (
        finish(
            path=path | {"mark_at": "20 packets"}, flows=[flow(cc)], duration="4 s", warmup="1 s", sample="10 ms"
        ).document
        for cc in ("reno", "dctcp")
    )
    # Threshold plus up to four packets; Reno halves its window of 102 packets at each mark, which empties the path.
    assert dctcp["path"]["queue_packets"]["max"] <= 24
    assert dctcp["flows"][0]["goodput_bps"] > 95e6
    assert reno["flows"][0]["goodput_bps"] < 80e6


def test_lp_yields_if_each_packet_is_acknowledged(finish: Runner) -> None:
    shares = {}
    for cc in ("reno", "lp"):
        for other in ("reno", "cubic"):
            done = finish(
                path=SLOW,
                flows=[
                    {"name": "one", "cc": cc, "delayed_ack": False},
                    {"name": "other", "cc": other, "delayed_ack": False},
                ],
                duration="20 s",
                warmup="5 s",
                start_jitter="1 RTT",
                sample="10 ms",
            )
            one, two = (flow["goodput_bps"] for flow in done.document["flows"])
            shares[cc, other] = one / (one + two)
    assert shares["reno", "reno"] > 0.3
    assert shares["lp", "reno"] < 0.12
    assert shares["lp", "cubic"] < 0.12


def test_every_control_of_the_catalogue_has_a_test() -> None:
    assert set(KEPT) | TESTED_BELOW | IN_TEST_CCP == set(CONGESTION_CONTROLS)
