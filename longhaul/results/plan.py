"""The plan of an experiment: every number, the place of each impairment, the cost, notes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.results.document import Documented

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.compile import Plan as CompiledPlan
    from longhaul.orchestrator.plan.run import Run


class Plan(Documented):
    """A plan. Its keys are those of the document that `longhaul plan --json` prints: experiment, lint, runs."""

    def __init__(self, compiled: CompiledPlan, backend: str) -> None:
        super().__init__({})
        self.compiled = compiled
        self.backend = backend

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON document, made when it is first used: that of a large sweep takes more memory than its runs."""
        if not self._document:
            self._document = {**self._head(), "runs": [run.as_json() for run in self.runs]}
        return self._document

    def _head(self) -> dict[str, Any]:
        return {"experiment": self.experiment, "lint": list(self.notes)}

    def json_parts(self) -> Iterator[str]:
        """The text of the document in parts, a run at a time."""
        yield json.dumps(self._head())[:-1] + ', "runs": ['
        for position, run in enumerate(self.runs):
            yield (", " if position else "") + json.dumps(run.as_json())
        yield "]}"

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return self.compiled.experiment.experiment

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs with every resolved number, the repeats of a point together."""
        return self.compiled.runs

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what is unusual but valid."""
        return self.compiled.lint

    @property
    def wall_s(self) -> float:
        """The estimated time of all runs on one processor."""
        return sum(wall_estimate_s(run) for run in self.runs)

    def picture(self, output: str | Path) -> Path:
        """Draw the topology as an SVG file."""
        from longhaul.orchestrator.system.files import write_whole

        output = Path(output)
        write_whole(output, self._svg())
        return output

    def _svg(self) -> str:
        from longhaul.orchestrator.preview.topology_picture import as_svg, picture_of

        return as_svg(picture_of(self.compiled.graph), self.compiled.experiment.topology)

    def __str__(self) -> str:
        from longhaul.orchestrator.preview.describe import describe_plan

        return describe_plan(self.compiled)

    def __repr__(self) -> str:
        count = len(self.runs)
        return f"<Plan {self.experiment}: {count} run{'' if count == 1 else 's'}, about {self.wall_s:.3g} s>"

    def _repr_html_(self) -> str:
        from html import escape

        from longhaul.results.html import image_html

        return image_html(self._svg().encode(), f"Topology of {self.experiment}") + f"<pre>{escape(str(self))}</pre>"
