"""How much somebody may ask: who is known by what they showed, who is not by their address."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from longhaul.orchestrator.system.errors import OverLimit

# At once may be asked what the rate allows in so many seconds.
_BURST_S = 5.0
# Of the rate, what is left to whoever showed tokens that are none: of 200 a second, 20 at once and then one every 5 s.
_FAILED_RATE, _FAILED_BURST = 1 / 1000, 1 / 10
_MOST_KNOWN = 10_000
# Whoever has one address of version 6 has all of its network.
_V6_NETWORK = 64
# When to ask again for a stream, once others are closed.
_SOON_S = 5


class Buckets:
    """A token bucket for each of many keys; those that were not used for longest are forgotten."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Seconds until there is room for one; nothing is taken."""
        with self._lock:
            return max(0.0, 1.0 - self._level(key, time.monotonic())) / self._rate

    def take(self, key: str) -> float:
        """Seconds until there is room; 0 where there was, and it is taken."""
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

    def of_known(self, said: str) -> float:
        """Seconds that somebody has to wait whose token or session was good before."""
        return self._rate.take(hashlib.sha256(said.encode()).hexdigest())

    def of_stranger(self, address: str, *, tries: bool) -> float:
        """Seconds that anybody else at this address has to wait; more where they try to be known and failed before."""
        place = _place(address)
        return (tries and self._failures.wait(place)) or self._rate.take(place)

    def failed(self, address: str) -> None:
        """Somebody there showed what is no token."""
        self._failures.take(_place(address))


class Streams:
    """How many event streams somebody has open, and no more than they may."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_of(self, name: str) -> Iterator[None]:
        """One more for as long as the context lasts, all in one thread; OverLimit where there are as many as may be."""
        if self._open[name] >= self._most:
            what = f"{name} has {self._open[name]} event streams open, and may have {self._most}"
            raise OverLimit("following", "events", what, "close some, and ask again", _SOON_S)
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
