"""Words that readers had to read twice, with plain ones for each.

git ls-files | python -m docs.word_list      prints each line of these files that has one of the words; exit code 1 if there are any
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
# A pattern, the words to write in its place, and the reason.
TERMS = {
    r"told|said": ("reported, printed, stated; a name: output, message, outcome", "programs do not speak"),
    r"whoever|somebody|nobody|anybody": ("the caller, the user, the operator, no process", "it hides who acts"),
    r"go(?:es|ing)? on|went on": ("is running, continues", "it has two meanings"),
    r"carr(?:y|ies|ied|ying) (?:\w+ )?out": ("run", "one word for one thing"),
    r"com(?:es?|ing|e) about|came about|br(?:ing|ings|ought) about": ("results from, causes", "few readers know it"),
    r"by the real clock|real clock": ("in real time", "one word for one thing"),
    r"wall seconds?": ("second of real time", "one word for one thing"),
    r"one's own|br(?:ing|ings|ought) along": ("user-supplied, your own", "one word for one thing"),
    r"hand(?:s|ed|ing)? in": ("submit", "one word for one thing"),
    r"h(?:old|olds|eld|olding) (?:\w+ ){0,3}against": ("compare with, check against", "it sounds like a reproach"),
    r"milder|mildest": ("lower, smallest", "a condition has no temper"),
    r"for want of|thereof|in the mean": ("for lack of, of it, on average", "nobody writes so today"),
}
_SUFFIXES = {
    "",
    ".c",
    ".cfg",
    ".css",
    ".h",
    ".html",
    ".js",
    ".md",
    ".py",
    ".rules",
    ".sh",
    ".toml",
    ".ts",
    ".tsx",
    ".yaml",
    ".yml",
}
# Texts of others, recordings, these lists, and files whose content is part of a kernel's identity.
_EXCLUDED = re.compile(
    r"LICENSE|kmod/COPYING|.*\.gen\.ts|.*package-lock\.json|tests/data/.*|tests/bench/results/.*|docs/(?:word_list\.py|glossary\.md)"
    r"|orchestrator/database/migrations/.*|kmod/sandbox/.*|tests/hosts/tree\.sh|tests/unit/tooling/test_word_list\.py"
)


def read(file: Path) -> str:
    """The text of a file; of the change log, that of the unreleased changes."""
    text = file.read_text()
    return text.partition("\n## 0")[0] if file.name == "CHANGELOG.md" else text


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Each line number with a term of the list and its replacement."""
    for number, line in enumerate(text.splitlines(), start=1):
        for term, (plain, reason) in TERMS.items():
            # An underscore separates the words of a name.
            if found := re.search(rf"(?<![^\W_])(?:{term})(?![^\W_])", line, re.IGNORECASE):
                yield number, f"`{found[0]}`: write {plain}; {reason}"


def main() -> int:
    """Print the findings in the files whose names are on standard input; 1 if there are any."""
    count = 0
    for name in sys.stdin.read().splitlines():
        file = REPOSITORY / name
        if file.suffix in _SUFFIXES and not file.is_symlink() and not _EXCLUDED.fullmatch(name):
            for number, finding in findings(read(file)):
                print(f"{name}:{number}: {finding}")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
