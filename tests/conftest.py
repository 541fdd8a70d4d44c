"""Shared by all tests: hypothesis has no deadline for examples. And options of the fuzz and chaos tests: which kernel, how many
experiments, from which seed, for how long; how many kills.
"""

from __future__ import annotations

import hypothesis
import pytest

# On a machine with other work an example may take any time.
hypothesis.settings.register_profile("unhurried", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("longhaul")
    group.addoption("--kernel", default="6.12", help="kernel of the guests of tests/fuzz")
    group.addoption("--runs", type=int, default=60, help="how many experiments tests/fuzz makes up")
    group.addoption("--right", type=int, default=40, help="how many right runs tests/fuzz holds fidelity to")
    group.addoption("--wrong", type=int, default=24, help="how many wrong ones")
    group.addoption("--links", type=int, default=25, help="how many links tests/fuzz runs with both emulations")
    group.addoption("--parts", type=int, default=20, help="how many experiments tests/fuzz runs in several guests too")
    group.addoption("--from-seed", type=int, default=1, help="where it begins: the same seed, the same experiments")
    group.addoption("--api-minutes", type=float, default=1, help="how long schemathesis asks the service of tests/api")
    group.addoption(
        "--flips", type=int, default=200, help="how many single bits tests/unit/results/test_damage.py flips"
    )
    group.addoption("--remember", action="store_true", help="keep what failed in the cache, and try it first")
    group.addoption("--chaos-runs", type=int, default=60, help="how many runs tests/chaos sees through")
    group.addoption("--kills", type=int, default=10, help="how often tests/chaos kills something")
    group.addoption(
        "--chaos-seed", type=int, default=1, help="what tests/chaos kills when: the same seed, the same order"
    )
