"""One point of the pack `simbricks-dctcp` against the time that SimBricks' authors publish for theirs: no program of theirs runs here."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from longhaul.orchestrator.spec.load import shipped_experiments
from longhaul.orchestrator.spec.yaml_text import read_document
from tests.bench.cases import Bench, Row

# "It takes around 240 mins to make one data point for Simbricks" (README of the paper's artifact, folder dctcp).
_PUBLISHED_MIN = 240
_EXPERIMENT, _THRESHOLD = "simbricks-dctcp/mtu-4000", "99840 B"


def simbricks(bench: Bench) -> Iterator[Row]:
    """How many times faster a point of figure 1 is; never shortened, since the published time is of these 10 s."""
    written = dict(read_document(shipped_experiments()[_EXPERIMENT]).data)
    assert _THRESHOLD in written.pop("sweep")["path.mark_at"]
    experiment = written | {"path": written["path"] | {"mark_at": _THRESHOLD}, "repeats": 1}
    measured = bench.measure(experiment)
    wall_s = median(one.wall_s for one in measured)
    guest_wall_s = median(float(one.run["wall_s"]) for one in measured)
    goodput_bps = sum(float(flow["goodput_bps"]) for flow in measured[0].run["flows"])
    yield Row(
        "simbricks",
        "K = 99,840 B, 10 s",
        "times faster",
        _PUBLISHED_MIN * 60 / wall_s,
        note=f"{wall_s:.2f} s against {_PUBLISHED_MIN} min, published for two 22-core Xeon Gold 6152; {goodput_bps / 1e9:.2f} Gbit/s, published 8.79",
        details={"wall_s": wall_s, "guest_wall_s": guest_wall_s, "published_s": _PUBLISHED_MIN * 60},
    )
