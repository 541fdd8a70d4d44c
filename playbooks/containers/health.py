"""Whether a container does what it is for, as its health check asks: exit code 0, or 1 with a line that says why not.

    health.py service PORT      its record can be reached
    health.py scheduler PORT    it answers
    health.py worker PORT       it is connected to a scheduler, which listens on that port

It is started every few seconds, so it takes nothing but what Python brings along.
"""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

_ANSWER_S = 4
_PAGES = {"service": "readyz", "scheduler": "health"}
# As the kernel writes it in /proc/net/tcp.
_ESTABLISHED = "01"


def problem_of(kind: str, port: int) -> str:
    """What is wrong with it; nothing where it is well."""
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
