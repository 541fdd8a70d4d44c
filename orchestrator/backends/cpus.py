"""One processor for each guest, among all the guests of this machine.

A pinned guest makes its system calls five times faster than one that moves between processors. A claim is a name in the
kernel's abstract socket namespace: it is valid across processes and users, leaves no file, and ends with its process.
When every processor is claimed, a guest runs unpinned.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

UNPINNED = -1


@contextlib.contextmanager
def claim_cpu() -> Iterator[int]:
    """The number of a processor that no other guest has claimed, or UNPINNED."""
    with claim_cpus(1) as cpus:
        yield cpus[0] if cpus else UNPINNED


@contextlib.contextmanager
def claim_cpus(count: int) -> Iterator[list[int]]:
    """So many processors that no other guest has claimed, or none of them."""
    claimed: list[int] = []
    with contextlib.ExitStack() as claims:
        for cpu in sorted(os.sched_getaffinity(0), reverse=True):
            if len(claimed) == count:
                break
            claim = claims.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            with contextlib.suppress(OSError):
                claim.bind(f"\0longhaul-processor-{cpu}")
                claimed.append(cpu)
        if len(claimed) < count:
            claims.close()
            claimed = []
        yield claimed
