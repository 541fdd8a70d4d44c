"""A client of the service for programs and notebooks: submit, follow, read results. `longhaul run --server` uses it.

    with Client("http://127.0.0.1:8080", token) as client:
        experiment = client.wait(client.submit("quick").id)
        client.result(experiment.id).summary

Responses are the types of schemas/experiments.py. An error of the service is raised as its LonghaulError. The client waits for a service
that restarts (connection.py) and ignores fields that a newer service adds.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, TypeAdapter

from longhaul.api.schemas import experiments as schemas
from longhaul.api.schemas.access import ShownShareLink
from longhaul.api.schemas.bulk import BulkResult, Refusal
from longhaul.api.schemas.experiments import (
    LIVE,
    ROOT,
    AskedFor,
    Baseline,
    Experiment,
    ExperimentRow,
    Experiments,
    Plan,
    Run,
    RunRow,
    Runs,
    Verification,
)
from longhaul.api.schemas.predictions import Prediction as PredictionAnswer
from longhaul.api.schemas.run_groups import RunGroup, RunGroups
from longhaul.client.connection import PATIENCE_S, Connection, Interrupted
from longhaul.client.event_stream import Event, listen, watch
from longhaul.client.notifications import Notifications
from longhaul.client.recordings import Recordings
from longhaul.client.traces import ServiceTraces
from longhaul.client.user_code import UserCode
from longhaul.orchestrator.live.live_series import LiveEvent
from longhaul.orchestrator.results.packets import PACKETS
from longhaul.orchestrator.results.seals import manifest_of
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.files import whole
from longhaul.results.comparison import Comparison
from longhaul.results.prediction import Prediction
from longhaul.results.result import Result
from longhaul.results.run import Series

__all__ = ["Client", "Event", "LiveEvent", "Series"]

_Model = TypeVar("_Model", bound=BaseModel)

_PAGE = 200
_EXPERIMENT_DIGITS = 16
_CHUNK_BYTES = 1 << 20


class Client(UserCode, Recordings, Notifications):
    """One service and one token."""

    def __init__(self, url: str, token: str, *, patience_s: float = PATIENCE_S) -> None:
        self._connection = Connection(url, token, patience_s)

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._connection.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def plan(self, experiment: str | Mapping[str, Any], **more: Any) -> Plan:
        """The plan of an experiment, without running it; arguments as for `submit`."""
        return self._post(Plan, "/plans", json=_submission(experiment, more))

    def submit(self, experiment: str | Mapping[str, Any], *, key: str | None = None, **more: Any) -> Experiment:
        """Submit an experiment: the name of a shipped one, or fields; `more` are fields of AskedFor, such as set=["path.rtt=80ms"].

        It is submitted once, even if the connection breaks; the same `key` never submits twice."""
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return self._post(Experiment, "/experiments", json=_submission(experiment, more), headers=headers)

    def experiment(self, experiment: str) -> Experiment:
        """The current state of an experiment."""
        return self._get(Experiment, f"/experiments/{experiment}")

    def experiments(self, **filters: Any) -> Iterator[ExperimentRow]:
        """All experiments, page by page; filters are those of GET /experiments, such as `name`, `status`, `cc`, `text`, `sort`."""
        return self._pages(Experiments, "/experiments", filters)

    def follow(self, experiment: str, last: int = 0) -> Iterator[Event]:
        """The events of an experiment and its runs, from the first or after `last`, until it has ended."""

        def over(event: Event) -> bool:
            return event.kind == "experiment.finished"

        def ended() -> bool:
            return self.experiment(experiment).status not in LIVE

        return listen(self._connection, f"{ROOT}/experiments/{experiment}/events", over, ended, last)

    def predict(
        self,
        size: str,
        path: str | Mapping[str, Any],
        *,
        streams: Sequence[int] = (1, 4),
        cc: Sequence[str] = ("all",),
        within: float = 0.05,
        poll_s: float = 2.0,
    ) -> Prediction:
        """Predict the completion time of a transfer, as `longhaul.predict` does, by runs of the service; waits for them."""
        asked = {"size": size, "path": path, "streams": list(streams), "cc": list(cc), "within": within}
        while True:
            found = self._post(PredictionAnswer, "/predictions", json=asked)
            if found.status == "done":
                return Prediction(found.model_dump())
            time.sleep(poll_s)

    def watch(self, run: str) -> Iterator[LiveEvent]:
        """The samples of a running run as it grows, each once, and its states, until it has ended (docs/service.md)."""
        return watch(self._connection, f"{ROOT}/runs/{run}/live")

    def wait(self, experiment: str, on_event: Callable[[Event], None] = lambda event: None) -> Experiment:
        """The experiment when it has ended; `on_event` is called with each event."""
        for event in self.follow(experiment):
            on_event(event)
        return self.experiment(experiment)

    def cancel(self, experiment: str) -> Experiment:
        """Cancel the runs of an experiment that have not finished."""
        return self._post(Experiment, f"/experiments/{experiment}/cancel")

    def result(self, experiment: str, notes: Sequence[str] = ()) -> Result:
        """The ended runs of an experiment and their summary, as `longhaul.run` returns them."""
        found = self._get(schemas.Result, f"/experiments/{experiment}/summary")
        return Result(found.model_dump(), ServiceTraces(self.plan_of, self.download), notes)

    def submit_and_wait(self, experiment: str | Mapping[str, Any], **more: Any) -> Result:
        """Submit an experiment, wait until it has ended, and return its result; arguments as for `submit`."""
        ended = self.wait(self.submit(experiment, **more).id)
        return self.result(ended.id, notes=ended.lint)

    def junit(self, experiment: str) -> str:
        """The JUnit file of an experiment."""
        return self._connection.ask("GET", f"{ROOT}/experiments/{experiment}/junit").text

    def report(self, experiment: str) -> str:
        """The report of an experiment, self-contained HTML."""
        return self._connection.ask("GET", f"{ROOT}/experiments/{experiment}/report").text

    def points(self, experiment: str, output: str | Path) -> Path:
        """Download all points of a sweep with their measures as one table, .parquet or .csv by the ending of the file; returns its path."""
        output = Path(output)
        params = {"format": output.suffix.removeprefix(".")}
        answer = self._connection.ask("GET", f"{ROOT}/experiments/{experiment}/points", params=params)
        with whole(output) as place:
            place.write_bytes(answer.content)
        return output

    def run(self, run: str) -> Run:
        """A run, with its document if it has ended."""
        return self._get(Run, f"/runs/{run}")

    def verify(self, run: str) -> Verification:
        """Compare every file of a kept run with its hash."""
        return self._get(Verification, f"/runs/{run}/verification")

    def runs(self, **filters: Any) -> Iterator[RunRow]:
        """All runs, page by page; filters are those of GET /runs, such as `experiment`, `experiment_id`, `status`, `cc`, `rtt`, `sort`."""
        return self._pages(Runs, "/runs", filters)

    def run_groups(self, **filters: Any) -> Iterator[RunGroup]:
        """The runs of each experiment name as one row; filters are those of `runs`, and `sort` is that of GET /run-groups."""
        number = 0
        while True:
            groups = self._get(RunGroups, "/run-groups", **{"limit": _PAGE, **_without_none(filters), "skip": number})
            yield from groups.items
            number += len(groups.items)
            if not groups.items or number >= groups.total:
                return

    def annotate(
        self, subject: str, *, title: str | None = None, tags: Sequence[str] | None = None, comment: str | None = None
    ) -> None:
        """Change the title, tags or comment of a run or an experiment, by its id; what is None stays."""
        given = {"title": title, "tags": None if tags is None else list(tags), "comment": comment}
        noun = "experiments" if len(subject) == _EXPERIMENT_DIGITS else "runs"
        self._connection.ask("PATCH", f"{ROOT}/{noun}/{subject}", json=given)

    def tags(self, limit: int = 50) -> dict[str, int]:
        """The tags of runs and experiments with their numbers, the most frequent first."""
        answer = self._connection.ask("GET", f"{ROOT}/tags", params={"limit": limit})
        return {one["tag"]: one["count"] for one in answer.json()}

    def share(self, *runs: str, experiment: str | None = None, days: int = 30) -> ShownShareLink:
        """A link that shows runs or an experiment without an account; its `id` ends it by DELETE /shares/{id}."""
        return self._post(ShownShareLink, "/shares", json={"runs": runs, "experiment_id": experiment, "days": days})

    def act_on_runs(self, action: Literal["delete", "pin", "unpin"], **filters: Any) -> BulkResult:
        """Delete, pin or unpin all runs that match; refused ones stay as they are, with the reasons. Filters are those of `runs`.

        Runs that are made meanwhile are not meant. It may be repeated, as a rerun must not."""
        asked, body = _without_none(filters), dict[str, Any]({"action": action})
        newest = self._get(Runs, "/runs", **{**asked, "sort": "newest", "limit": 1})
        done, refused = 0, list[Refusal]()
        if newest.items:
            at = datetime.fromisoformat(newest.items[0].created_at) + timedelta(milliseconds=1)
            body["until"] = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        while newest.items:
            answer = self._post(BulkResult, "/run-actions", params=asked, json=body)
            done += answer.done
            refused += answer.refused
            if answer.next is None:
                break
            body["cursor"] = answer.next
        return BulkResult(done=done, refused=refused, next=None)

    def series(
        self,
        run: str,
        measure: str,
        *,
        flow: str | None = None,
        link: str | None = None,
        begin_s: float | None = None,
        end_s: float | None = None,
        points: int | None = None,
    ) -> Series:
        """One series of the catalogue as arrays: of a flow, of a link, or of the first bottleneck."""
        query = {"measure": measure, "flow": flow, "link": link, "from": begin_s, "to": end_s, "points": points}
        found = self._get(schemas.Series, f"/runs/{run}/series", **query)
        t_s, value = (np.array(numbers, dtype=np.float64) for numbers in (found.t_s, found.value))
        return Series(found.measure, found.of, found.unit, t_s, value)

    def frame(self, run: str, measures: Sequence[str], *, flows: Sequence[str], **span: Any) -> dict[str, NDArray[Any]]:
        """Measures of flows in long form, with the columns t_s, of, measure and value, for pandas.DataFrame(...)."""
        found = [self.series(run, measure, flow=flow, **span) for measure in measures for flow in flows]
        return {
            "t_s": np.concatenate([one.t_s for one in found]),
            "of": np.concatenate([np.full(len(one.t_s), one.of) for one in found]),
            "measure": np.concatenate([np.full(len(one.t_s), one.measure) for one in found]),
            "value": np.concatenate([one.value for one in found]),
        }

    def files(self, run: str) -> list[str]:
        """The names of a run's files."""
        answer = self._connection.ask("GET", f"{ROOT}/runs/{run}/files")
        return TypeAdapter(list[str]).validate_json(answer.content)

    def download(self, run: str, name: str, folder: Path) -> Path:
        """Download a file of a run, such as manifest.json or acks.parquet, into a folder; returns its path."""
        target, beside = folder / name, folder / f".{name}.half"
        folder.mkdir(parents=True, exist_ok=True)
        patience = self._connection.patience()
        while True:
            try:
                with (
                    self._connection.stream(f"{ROOT}/runs/{run}/files/{quote(name, safe='')}") as response,
                    beside.open("wb") as file,
                ):
                    for chunk in response.iter_bytes(_CHUNK_BYTES):
                        file.write(chunk)
            except Interrupted as interrupted:
                patience.pause(interrupted)
            else:
                return beside.replace(target)

    def packets(
        self,
        run: str,
        folder: Path,
        *,
        at: Sequence[str] = ("bottleneck",),
        snap: int | None = None,
        flows: Sequence[str] | None = None,
    ) -> Path:
        """Run a kept run once more for its packets, and download them as a compressed pcapng file."""
        asked = {"at": list(at), "snap": snap, "flows": None if flows is None else list(flows)}
        ended = self.wait(self._post(schemas.Experiment, f"/runs/{run}/packets", json=asked).id)
        if ended.status != "done":
            again = self.result(ended.id).runs[0]
            what = again.error or f"it {ended.status}"
            raise ResultsError("capturing packets of run", run, what, f"see the experiment {ended.id}")
        return self.download(run, PACKETS, folder)

    def plan_of(self, run: str) -> dict[str, Any]:
        """The plan of a kept run (run.json); NotFound if it is not kept."""
        answer = self._connection.ask("GET", f"{ROOT}/runs/{run}/files/manifest.json")
        try:
            found: dict[str, Any] = manifest_of(answer.content, run)["run"]
        except ValueError as error:
            hint = f"run `longhaul verify {run}` on the machine of the service"
            raise ResultsError("reading the plan of run", run, f"its manifest: {error}", hint) from error
        return found

    def compare(
        self, a: str, b: str, gates: Sequence[str] = (), min_effect: str = "2 %", *, trace: bool = False
    ) -> Comparison:
        """Compare two experiments or runs, as `longhaul.compare` does."""
        query = {"a": a, "b": b, "gate": list(gates), "min_effect": min_effect, "trace": trace}
        return Comparison(self._connection.ask("GET", f"{ROOT}/comparisons", params=query).json())

    def baselines(self) -> list[Baseline]:
        """The baselines of all experiments and branches."""
        answer = self._connection.ask("GET", f"{ROOT}/baselines")
        return TypeAdapter(list[Baseline]).validate_json(answer.content, extra="ignore")

    def baseline(self, name: str, branch: str) -> Baseline:
        """The baseline of an experiment's name on a branch; NotFound if none is set."""
        return self._get(Baseline, _baseline(name, branch))

    def set_baseline(self, name: str, branch: str, experiment: str) -> Baseline:
        """Make an experiment the baseline of its name on a branch."""
        answer = self._connection.ask("PUT", f"{ROOT}{_baseline(name, branch)}", json={"experiment_id": experiment})
        return Baseline.model_validate_json(answer.content, extra="ignore")

    def _get(self, model: type[_Model], path: str, **params: Any) -> _Model:
        answer = self._connection.ask("GET", ROOT + path, params=_without_none(params))
        return model.model_validate_json(answer.content, extra="ignore")

    def _post(self, model: type[_Model], path: str, **more: Any) -> _Model:
        # Every POST here can be repeated: a plan, a submission with a key, a cancellation.
        return model.model_validate_json(self._connection.ask("POST", ROOT + path, **more).content, extra="ignore")

    def _pages(self, model: type[Any], path: str, filters: Mapping[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._get(model, path, limit=_PAGE, cursor=cursor, **filters)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return


def _submission(experiment: str | Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    named = {"shipped": experiment} if isinstance(experiment, str) else {"spec": dict(experiment)}
    return AskedFor(**named, **more).model_dump(mode="json", exclude_unset=True)


def _without_none(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _baseline(name: str, branch: str) -> str:
    return f"/baselines/{quote(name, safe='')}/{quote(branch, safe='/')}"
