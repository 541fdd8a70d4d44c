"""A host between the two emulates the path: measures agree with the configured path, and its cards are as before afterwards."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends.hosts.ssh_channel import Channel
from longhaul.orchestrator.spec.host_policy import read_policy
from longhaul.orchestrator.system.errors import BackendError
from tests.hosts.bench import Bench, measured
from tests.hosts.runs import PATH, Runner, experiment, only_run, wait_until
from tests.hosts.standins import ROUTER

THROUGH = ("--backend", "hosts", "--hosts", f"alpha,{ROUTER},beta")
FLOW: dict[str, Any] = {"name": "app", "cc": "cubic"}
CARDS = ("vec1", "vec2")
# This machine has other work, and a host that did not keep up reports it.
TRIES = 3


@pytest.fixture(scope="module")
def through(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """The router is a host of the policy too, and deployed with the others; it has the queues that emulate a path for the stand-ins."""
    folder, lab = tmp_path_factory.mktemp("box"), bench.lab
    policy = json.loads(lab.policy.read_text())
    policy["hosts"][ROUTER] = {
        **policy["hosts"]["alpha"],
        "ssh": {"address": lab.router.address},
        "traffic": {"address": "10.1.0.1", "device": CARDS[0]},
        "emulates": dict(zip(("alpha", "beta"), CARDS, strict=True)),
    }
    (folder / "hosts.yml").write_text(json.dumps(policy))
    inventory = bench.inventory(folder, **{ROUTER: {}})
    lab.set_path(PATH)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lab, "policy", folder / "hosts.yml")
        bench.deployed(inventory=inventory)
        yield Runner(bench, folder)
        bench.restored(inventory)
    assert lab.run(ROUTER, "find /etc /usr/local /var/lib /run /lib/modules/ -name longhaul") == ""


def _kinds(runner: Runner) -> list[str]:
    """The queues that are configured on the router's cards."""
    shown = [json.loads(runner.bench.lab.run(ROUTER, f"tc -j qdisc show dev {card}")) for card in CARDS]
    return [one["kind"] for card in shown for one in card if one["handle"] != "0:"]


def test_queues_that_a_user_configured_stay(through: Runner) -> None:
    code, document, messages = through.run(experiment("box-taken", [FLOW], duration="2 s"), *THROUGH)
    assert code == 4, messages
    error = only_run(document)["error"]
    assert error["what"] == "a user configured netem there, which stays"
    assert _kinds(through) == ["netem", "tbf"] * 2
    for card in CARDS:
        through.bench.lab.run(ROUTER, f"tc qdisc delete dev {card} root")


def test_the_configured_path_is_measured(through: Runner) -> None:
    spec = experiment("box-path", [FLOW], duration="8 s", warmup="3 s")
    code, document, messages = through.run(spec, *THROUGH)
    for _ in range(TRIES - 1):
        if code == 0:
            break
        code, document, messages = through.run(spec, *THROUGH)
    assert code == 0, (messages, document)
    run = only_run(document)
    (text,) = [one["text"] for one in run["fidelity"]["checks"] if one["name"] == "emulated path"]
    flow = run["flows"][0]
    measured(f"through a middle box: {flow['goodput_bps'] / 1e6:.2f} Mbit/s, {text}")
    assert text.startswith("router: 40 ms and 20 Mbit/s asked for, fastest probe ")
    assert 40 <= float(text.split("fastest probe ")[1].split(" ms")[0]) < 44
    # At most a full buffer of 1 BDP on top of it.
    assert 40 <= flow["rtt_ms"]["min"] < 85
    # 1448 of 1514 bytes are the application's.
    assert 0.85 < flow["goodput_bps"] / (20e6 * 1448 / 1514) < 1.02
    assert _kinds(through) == []


@pytest.mark.parametrize(("host", "card"), [(ROUTER, "vec0"), ("alpha", "vec1")])
def test_a_hostile_controller_gets_no_other_card(through: Runner, tmp_path: Path, host: str, card: str) -> None:
    channel = Channel.open(read_policy(through.bench.lab.policy), host, tmp_path)
    plan = json.dumps({"duration_us": 10**6, "ends": [{"dev": card, "qdiscs": []}]}).encode()
    try:
        channel.wait_for("HELO", 30, "reaching")
        channel.send(f"emulate hostile {host} {len(plan)}", plan)
        with pytest.raises(BackendError, match="nothing may be emulated on it"):
            channel.wait_for("REDY", 30, "emulating on")
    finally:
        channel.close()
    assert not through.traffic(host)


@pytest.mark.parametrize("victim", ["supervisor", "controller"])
def test_cards_are_restored_after_a_kill(through: Runner, victim: str) -> None:
    process = through.started(experiment("box-long", [FLOW], duration="60 s"), *THROUGH)
    assert set(_kinds(through)) == {"netem", "tbf", "pfifo"}
    if victim == "controller":
        process.send_signal(signal.SIGKILL)
        process.communicate()
    else:
        through.bench.lab.run(ROUTER, "kill -9 $(pgrep -o -f '^/usr/local/libexec/longhaul/[a]gent endpoint')")
        code, document, messages = through.end(process)
        assert code == 4, messages
        assert (
            "running on router"
            in f"{only_run(document)['error']['attempting']} {only_run(document)['error']['subject']}"
        )
    wait_until(lambda: _kinds(through) == [], "the end of the queues")
    for name in ("alpha", "beta"):
        through.wait_until_clean(name)
    assert not through.traffic(ROUTER)
