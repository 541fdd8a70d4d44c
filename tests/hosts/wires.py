"""A separate network for tests: a namespace for this process and all that it starts, with taps and bridges. It ends with them.

this process --- manage (bridge, 10.77.0.1) ---+--- tap m-NAME --- vec0 of each stand-in: ssh
                 b-NAME (bridge, no address) --+--- tap t-NAME --- vec1 of an endpoint: test traffic
                                               `--- tap r-NAME --- a card of the router
"""

from __future__ import annotations

import ctypes
import functools
import os

from tests.support.programs import run_program

_CLONE_NEWNET = 0x40000000


@functools.cache
def enter() -> None:
    """Move this thread, threads it makes and processes they start to a separate network namespace, once."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_CLONE_NEWNET):
        why = os.strerror(ctypes.get_errno())
        raise PermissionError(f"making a network namespace for stand-ins: {why}; be root: run `sudo make test-hosts`")
    ip("link", "set", "lo", "up")


def ip(*words: str) -> None:
    done = run_program(["ip", *words])
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()}"


def bridge(name: str, address: str = "") -> None:
    # Without spanning tree and delay a port forwards at once; the network has no loops.
    ip("link", "add", name, "type", "bridge", "forward_delay", "0", "stp_state", "0")
    if address:
        ip("address", "add", address, "dev", name)
    # A stand-in takes packets of its MTU and drops the larger ones that a machine hands to its own devices.
    ip("link", "set", "dev", name, "gso_max_segs", "1")
    ip("link", "set", name, "up")


def tap(name: str, of_bridge: str) -> None:
    ip("tuntap", "add", "dev", name, "mode", "tap")
    ip("link", "set", "dev", name, "master", of_bridge)
    ip("link", "set", "dev", name, "up")
