"""The result of a search for parameters or for a breaking point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longhaul.results.document import Documented
from longhaul.results.tables import text_table

if TYPE_CHECKING:
    from longhaul.results.frames import Library


class Search(Documented):
    """A search. Its keys are those of the document that `longhaul tune --json` or `longhaul search --json` prints."""

    @property
    def found(self) -> dict[str, Any] | None:
        """The tuned experiment or the counterexample; None if none was found."""
        name = "tuned" if "tuned" in self else "counterexample_experiment"
        experiment: dict[str, Any] | None = self[name] if self["confirmation"] else None
        return experiment

    @property
    def confirmed(self) -> bool:
        """Whether fresh seeds confirm it."""
        if "tuned" in self:
            return bool(self["confirmation"] and self["confirmation"]["better"])
        return self["counterexample"] is not None

    @property
    def tried(self) -> list[dict[str, Any]]:
        """A row for each candidate."""
        if "trials" in self:
            return [one["params"] | {"value": one["value"], "error": one.get("error", "")} for one in self["trials"]]
        fields = ("distance", "breaks", "margins", "error")
        return [one["values"] | {name: one.get(name) for name in fields} for one in self["conditions"]]

    def frame(self, library: Library | None = None) -> Any:
        """The candidates as a table: of pandas, polars or pyarrow, by default the first that is installed."""
        from longhaul.results.frames import as_frame, rows_table

        return as_frame(rows_table(self.tried), library)

    def table(self) -> list[dict[str, str]]:
        """The candidates as text."""
        return [{name: "" if value is None else str(value) for name, value in row.items()} for row in self.tried]

    def __str__(self) -> str:
        return text_table(self.table())

    def __repr__(self) -> str:
        return f"<Search in {self['experiment']}: {len(self.tried)} tried, {'' if self.confirmed else 'nothing '}confirmed>"

    def _repr_html_(self) -> str:
        from longhaul.results.html import table_html

        return table_html(self.table(), repr(self).strip("<>"))
