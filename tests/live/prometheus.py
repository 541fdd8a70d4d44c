"""A real Prometheus with the project's own configuration, and its samples of a run."""

from __future__ import annotations

import math
import shutil
import struct
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.parts import Part, free_port
from tests.support.waiting import is_ready, wait_for

CONFIG = Path(__file__).resolve().parents[2] / "dashboards" / "prometheus.yml"
_ANSWER_S = 60.0

# (time in milliseconds, bits of the value) of each series, by its labels.
Stored = dict[frozenset[tuple[str, str]], list[tuple[int, int]]]


def bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


class PrometheusServer(Part):
    """Prometheus on a port and in a folder that it keeps over restarts."""

    def __init__(self, folder: Path, *flags: str, config: Path = CONFIG) -> None:
        for program in ("prometheus", "promtool"):
            if shutil.which(program) is None:
                pytest.fail(f"there is no {program}: run `./setup.sh live`", pytrace=False)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data = folder / "prometheus-data"
        argv = [
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.data}", f"--web.listen-address=127.0.0.1:{self.port}",
            "--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=10y", *flags,
        ]  # fmt: skip
        super().__init__("prometheus", argv, folder, {})

    def start(self) -> None:
        super().start()
        wait_for(lambda: is_ready(f"{self.url}/-/ready"), _ANSWER_S, lambda: self.log()[-2000:])

    def query(self, expression: str, at_s: float | None = None) -> list[dict[str, Any]]:
        parameters: dict[str, Any] = {"query": expression} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
        answer = httpx.get(f"{self.url}/api/v1/query", params=parameters, timeout=30).json()
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def stored(self, run: str, begin_ms: int, end_ms: int, metric: str = "longhaul_.+") -> Stored:
        """Every stored sample of a run: a range of raw samples, with a second on either side."""
        span_ms = end_ms - begin_ms + 2000
        selector = f'{{__name__=~"{metric}",run="{run}"}}[{span_ms}ms]'
        return {
            frozenset(series["metric"].items()): [
                (round(at_s * 1000), bits(float(value))) for at_s, value in series["values"]
            ]
            for series in self.query(selector, at_s=(end_ms + 1000) / 1000)
        }

    def newest_s(self, run: str, metric: str) -> float:
        """The time of a run's newest sample of a metric; minus infinity before there is one."""
        found = self.query(f'max(timestamp({metric}{{run="{run}"}}))')
        return float(found[0]["value"][1]) if found else -math.inf
