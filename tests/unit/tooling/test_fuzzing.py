"""The fuzz itself: what it finds it says, and an error of the product is never taken for a pass."""

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
    """An assertion within the product, too: it was taken for a broken rule, of which there was none."""

    def fail(written: Written) -> list[str]:
        raise error("in the product")

    with pytest.raises(error):
        hold_all(fail, DRAWN, "name", 1, 5, None)


def test_a_broken_rule_is_told_with_the_smallest_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_fuzz, "KEPT", tmp_path)
    with pytest.raises(pytest.fail.Exception, match="number: 3"):
        hold_all(lambda written: ["three or more"] if written["number"] >= 3 else [], DRAWN, "name", 1, 20, None)
    assert (tmp_path / "name.yaml").read_text().startswith("# three or more")


def test_what_holds_passes() -> None:
    hold_all(lambda written: [], DRAWN, "name", 1, 5, None)


def test_a_number_is_one_experiment_for_ever() -> None:
    assert [realistic(number) for number in range(50)] == [realistic(number) for number in range(50)]
    assert len({str(realistic(number)) for number in range(50)}) == 50
