"""The word list of the documentation: which texts it finds, and which it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.word_list import findings, read


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The guest told its clock.", "told"),
        ("def as_told(self): ...", "told"),
        ("Whoever runs it", "Whoever"),
        ("The run is carried out here", "carried out"),
        ("numbers are held firmly against the paper's", "held firmly against"),
        ("in the mean", "in the mean"),
    ],
)
def test_a_term_is_found_with_its_line(text: str, found: str) -> None:
    ((line, finding),) = findings(f"The first line.\n{text}\n")
    assert line == 2
    assert finding.startswith(f"`{found}`: write ")


@pytest.mark.parametrize("text", ["unsaid", "retold stories", "a hand in a glove", "in the meantime", "the carrier"])
def test_longer_words_are_left_alone(text: str) -> None:
    assert [*findings(text.replace("hand in", "hand inside"))] == []


def test_released_changes_keep_their_words(tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    file.write_text("## Unreleased\n- New.\n\n## 0.1\n- Somebody said so.\n")
    assert [*findings(read(file))] == []
