"""The fuzz itself: it reports broken rules, and an error of Longhaul never counts as a pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz import test_fuzz
from tests.fuzz.realistic import Written, realistic
from tests.fuzz.test_fuzz import hold_all

DRAWN: st.SearchStrategy[Written] = st.builds(lambda number: {"number": number}, st.integers(0, 9))


@pytest.mark.parametrize("error", [AssertionError, KeyError, ZeroDivisionError])
def test_an_error_of_the_product_is_raised(error: type[Exception]) -> None:
    """Also for an assertion within Longhaul, which once counted as a broken rule without a sentence."""

    def fail(written: Written) -> list[str]:
        raise error("in the product")

    with pytest.raises(error):
        hold_all(fail, DRAWN, "name", 1, 5, None)


def test_a_broken_rule_is_reported_with_the_smallest_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_fuzz, "KEPT", tmp_path)
    with pytest.raises(pytest.fail.Exception, match="number: 3"):
        hold_all(lambda written: ["three or more"] if written["number"] >= 3 else [], DRAWN, "name", 1, 20, None)
    assert (tmp_path / "name.yaml").read_text().startswith("# three or more")


def test_an_experiment_without_broken_rules_passes() -> None:
    hold_all(lambda written: [], DRAWN, "name", 1, 5, None)


def test_a_number_always_gives_the_same_experiment() -> None:
    assert [realistic(number) for number in range(50)] == [realistic(number) for number in range(50)]
    assert len({str(realistic(number)) for number in range(50)}) == 50
