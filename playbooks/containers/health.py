"""The health check of containers: exit code 0, or 1 with a line that states the reason.

    health.py service PORT      the service can reach its database
    health.py scheduler PORT    the scheduler responds
    health.py worker PORT       the worker is connected to a scheduler on that port

It starts every few seconds, so it imports only the standard library.
"""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

_ANSWER_S = 4
_PAGES = {"service": "readyz", "scheduler": "health"}
# The state in /proc/net/tcp.
_ESTABLISHED = "01"


def problem_of(kind: str, port: int) -> str:
    """The problem of a container; empty if it is healthy."""
    if kind == "worker":
        return "" if _is_connected_to(port) else f"no connection to a scheduler's port {port}"
    url = f"http://127.0.0.1:{port}/{_PAGES[kind]}"
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_S):
            return ""
    except OSError as error:
        return f"{url}: {error}"


def _is_connected_to(port: int) -> bool:
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in Path(table).read_text().splitlines()[1:]:
            remote, state = row.split()[2:4]
            if remote.endswith(wanted) and state == _ESTABLISHED:
                return True
    return False


if __name__ == "__main__":
    found = problem_of(sys.argv[1], int(sys.argv[2]))
    if found:
        raise SystemExit(found)
