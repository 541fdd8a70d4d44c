"""The random draws of a flow as the agent has them (orchestrator/agent/system/random.c): the same seed gives the same pauses and sizes."""

from __future__ import annotations

import math

_MASK = 2**64 - 1
_LARGEST = 1e18


class Draws:
    """xoshiro256** seeded by splitmix64 (Blackman and Vigna)."""

    def __init__(self, seed: int) -> None:
        self._state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & _MASK
            mixed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
            mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
            self._state.append(mixed ^ mixed >> 31)

    def exponential(self, mean: float) -> float:
        """A draw from the exponential distribution."""
        return min(-math.log(self._share()) * mean, _LARGEST)

    def pareto(self, mean: float, shape: float) -> float:
        """A draw from the Pareto distribution; 1 at least."""
        least = mean * (shape - 1) / shape
        return min(max(1.0, least * math.pow(self._share(), -1 / shape)), _LARGEST)

    def _share(self) -> float:
        a, b, c, d = self._state
        product = b * 5 & _MASK
        result = _rotated(product, 7) * 9 & _MASK
        shifted = b << 17 & _MASK
        c ^= a
        d ^= b
        self._state = [a ^ d, b ^ c, c ^ shifted, _rotated(d, 45)]
        return ((result >> 11) + 1) * 2.0**-53


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK
