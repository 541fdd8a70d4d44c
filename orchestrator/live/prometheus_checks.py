"""Checks whether the configured Prometheus fits Longhaul, by requests to it, not from a configuration file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml

from longhaul.orchestrator.live.remote_write import EMPTY, RemoteWriter, Reply, Verdict
from longhaul.orchestrator.system.errors import ServiceUnavailable
from longhaul.orchestrator.system.settings import Prometheus

_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
# A clock that is ahead by more sends samples from the server's future.
_MOST_AHEAD_S = 5.0


def lacking(server: Prometheus) -> list[tuple[str, str]]:
    """All problems with it, each with a remedy."""
    writer = RemoteWriter(server)
    try:
        return list(_found(server, writer))
    except ServiceUnavailable as error:
        return [(f"an answer of {server.url}: {error.what}", "start it, or set LONGHAUL_PROMETHEUS to where it is")]
    finally:
        writer.close()


def _found(server: Prometheus, writer: RemoteWriter) -> Iterator[tuple[str, str]]:
    ready = writer.ask("/-/ready")
    # A message without a series: a server that accepts it accepts remote write.
    answer = writer.push(EMPTY)
    if answer.verdict is not Verdict.TAKEN:
        yield "a receiver of remote write", answer.why
    if ready.ahead_s > _MOST_AHEAD_S:
        remedy = "set the clocks right: samples from the future make a server refuse those of the present"
        yield f"a clock that agrees with the server's (this machine's is {ready.ahead_s:.0f} s ahead)", remedy
    window_s = _window_s(writer.ask("/api/v1/status/config"))
    if window_s is not None and window_s < server.window_s:
        remedy = (
            f"set storage.tsdb.out_of_order_time_window to {server.window_s // 60}m there (dashboards/prometheus.yml),"
            " or LONGHAUL_PROMETHEUS_WINDOW to its value"
        )
        yield f"a window for the past of {server.window_s // 60} min (it has {window_s / 60:g})", remedy


def _window_s(reply: Reply) -> float | None:
    """Its out-of-order window; None if it does not report one, like servers of other kinds."""
    if not reply.well:
        return None
    try:
        config = yaml.safe_load(json.loads(reply.text)["data"]["yaml"])
        written = config.get("storage", {}).get("tsdb", {}).get("out_of_order_time_window", "0s")
    except (ValueError, KeyError, AttributeError, yaml.YAMLError):
        return None
    return sum(int(count) * _UNITS_S[unit] for count, unit in re.findall(r"([0-9]+)(ms|[smhdwy])", str(written)))
