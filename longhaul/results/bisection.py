"""The result of a bisect: the first change with which an experiment behaves otherwise."""

from __future__ import annotations

from typing import Any

from longhaul.results.document import Documented
from longhaul.results.tables import text_table


class Bisection(Documented):
    """A bisect. Its keys are those of the document that `longhaul bisect --json` prints."""

    @property
    def found(self) -> dict[str, Any] | None:
        """The first bad step: its name, description, values and runs; None if steps that could not be judged are in the way."""
        found: dict[str, Any] | None = self["found"]
        return found

    @property
    def before(self) -> dict[str, Any] | None:
        """The last good step before it."""
        before: dict[str, Any] | None = self["before"]
        return before

    @property
    def suspects(self) -> list[str]:
        """The steps that can be the first bad one: one if it is found."""
        return [one["what"] for one in self["suspects"]]

    def table(self) -> list[dict[str, str]]:
        """The steps in the order in which they were judged, as text."""
        return [
            {
                "step": one["what"],
                "verdict": one["verdict"],
                self["measure"] or "expect": ", ".join(f"{value:.6g}" for value in one["values"]) or one["note"],
            }
            for one in self["steps"]
        ]

    def __str__(self) -> str:
        return text_table(self.table())

    def __repr__(self) -> str:
        what = self.found["what"] if self.found else f"{len(self.suspects)} suspects"
        return f"<Bisection of {self['experiment']}: {what}>"

    def _repr_html_(self) -> str:
        from longhaul.results.html import table_html

        return table_html(self.table(), repr(self).strip("<>"))
