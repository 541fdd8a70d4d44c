"""The published claims of papers compared with measured values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.papers.verdicts import AGREES, DIFFERS
from longhaul.results.document import Documented
from longhaul.results.tables import text_table

if TYPE_CHECKING:
    from longhaul.results.frames import Library
    from longhaul.results.result import Result

_COLUMNS = ("figure", "claim", "class", "published", "measured", "verdict")


class Reproduction(Documented):
    """Verdicts on claims. Its keys are those of the document that `longhaul reproduce --json` prints: experiment, runs, summary, verdicts."""

    def __init__(self, document: Mapping[str, Any], results: Mapping[str, Result]) -> None:
        super().__init__(document)
        self._results = dict(results)

    @property
    def results(self) -> dict[str, Result]:
        """The result of each experiment, by its name."""
        return self._results

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """A row for each claim: paper, figure, claim, published, measured, verdict, and why it may differ."""
        return list(self["verdicts"])

    @property
    def ok(self) -> bool:
        """Whether no gating claim differs and no run failed."""
        differs = any(one["gate"] and one["verdict"] == DIFFERS for one in self.verdicts)
        return not differs and all(run["status"] != "failed" for run in self["runs"])

    def frame(self, library: Library | None = None) -> Any:
        """The verdicts as a table: of pandas, polars or pyarrow, by default the first that is installed."""
        from longhaul.results.frames import as_frame, rows_table

        names = (
            "paper",
            "figure",
            "claim",
            "class",
            "kind",
            "published",
            "measured",
            "value",
            "low",
            "high",
            "off",
            "gate",
        )
        rows = [{name: one.get(name) for name in (*names, "verdict", "why")} for one in self.verdicts]
        return as_frame(rows_table(rows), library)

    def table(self) -> list[dict[str, str]]:
        """The rows that `longhaul reproduce` prints."""
        rows = []
        for one in self.verdicts:
            row = {name: str(one[name]) for name in _COLUMNS} | {"gates": "yes" if one["gate"] else ""}
            rows.append(row | {"figure": f"{one['paper']}/{one['figure']}"})
        return rows

    def _counts(self) -> str:
        counts = [f"{sum(one['verdict'] == word for one in self.verdicts)} {text}" for word, text in _WORDS.items()]
        return f"{len(self.verdicts)} claims: {', '.join(counts)}"

    def __str__(self) -> str:
        return f"{text_table(self.table())}\n{self._counts()}"

    def __repr__(self) -> str:
        return f"<Reproduction of {self['experiment']}: {self._counts()}>"

    def _repr_html_(self) -> str:
        from longhaul.results.html import table_html

        return table_html(self.table(), f"{self['experiment']}: {self._counts()}")


_WORDS = {AGREES: "agree", DIFFERS: "differ"}
