"""Rate limits: by credential for known callers, by address for others."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from longhaul.orchestrator.system.errors import OverLimit

# The burst, in seconds of the rate.
_BURST_S = 5.0
# The share of the rate for addresses that sent invalid tokens: of 200 a second, 20 at once and then one every 5 s.
_FAILED_RATE, _FAILED_BURST = 1 / 1000, 1 / 10
_MOST_KNOWN = 10_000
# A caller with one IPv6 address has its whole network.
_V6_NETWORK = 64
# When to request a stream again.
_SOON_S = 5


class Buckets:
    """A token bucket for each of many keys; the least recently used are dropped."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Seconds until a request is allowed, without counting one."""
        with self._lock:
            return max(0.0, 1.0 - self._level(key, time.monotonic())) / self._rate

    def take(self, key: str) -> float:
        """Seconds until a request is allowed; 0 if it is, and then it is counted."""
        with self._lock:
            now_s = time.monotonic()
            level = self._level(key, now_s)
            fits = level >= 1.0
            self._levels.pop(key, None)
            self._levels[key] = (level - fits, now_s)
            while len(self._levels) > _MOST_KNOWN:
                self._levels.pop(next(iter(self._levels)))
        return 0.0 if fits else (1.0 - level) / self._rate

    def _level(self, key: str, now_s: float) -> float:
        level, at_s = self._levels.get(key, (self._burst, now_s))
        return min(self._burst, level + (now_s - at_s) * self._rate)


class Limits:
    """The buckets of one service."""

    def __init__(self, rate: float) -> None:
        self._rate = Buckets(rate, rate * _BURST_S)
        self._failures = Buckets(rate * _FAILED_RATE, max(1.0, rate * _FAILED_BURST))

    def of_known(self, credential: str) -> float:
        """Seconds that a caller with a formerly valid token or session has to wait."""
        return self._rate.take(hashlib.sha256(credential.encode()).hexdigest())

    def of_stranger(self, address: str, *, tries: bool) -> float:
        """Seconds that other callers at this address have to wait; more if they try to log in and failed before."""
        place = _place(address)
        return (tries and self._failures.wait(place)) or self._rate.take(place)

    def failed(self, address: str) -> None:
        """A caller at this address sent an invalid token."""
        self._failures.take(_place(address))


class Streams:
    """The open event streams of each caller, and their limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_of(self, name: str) -> Iterator[None]:
        """One more stream within the context, all in one thread; OverLimit at the limit."""
        if self._open[name] >= self._most:
            what = f"{name} has {self._open[name]} event streams open, and {self._most} are allowed"
            raise OverLimit("following", "events", what, "close some, and try again", _SOON_S)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]


def _place(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(parsed), _V6_NETWORK), strict=False).network_address)
    return address
