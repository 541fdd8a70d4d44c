"""One seed per purpose, all from the experiment's: changing one source of randomness leaves the others as they were."""

from __future__ import annotations

import hashlib

# Seeds stay exact in programs that hold JSON numbers as doubles.
_BITS = 53


def derive_seed(seed: int, purpose: str) -> int:
    """A number from 1 to 2^53 - 1 for a purpose such as 'flow app'."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _BITS) or 1
