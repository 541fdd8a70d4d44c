"""One experiment for all tests of this room: two round-trip times and two buffers, each twice, with CUBIC and BBR."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.service import Service

SWEEP = {
    "experiment": "explored",
    "path": {"bandwidth": "20 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP"},
    "flows": [{"name": "cubic", "cc": "cubic"}, {"name": "bbr", "cc": "bbr", "start": "1 s"}],
    "duration": "5 s",
    "warmup": "1 s",
    "repeats": 2,
    "sweep": {"path.rtt": ["20 ms", "80 ms"], "path.buffer": ["0.5 BDP", "2 BDP"]},
}


@dataclass
class Explored:
    """The experiment and its first run."""

    experiment: str
    run: str


@pytest.fixture(scope="session")
def explored(service: Service) -> Explored:
    ended = service.wait(service.submit({"spec": SWEEP})["id"])
    assert ended["status"] == "done", ended
    return Explored(ended["id"], ended["runs"][0].rpartition("/")[2])
