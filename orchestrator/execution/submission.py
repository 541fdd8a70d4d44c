"""Turns a request into a recorded experiment: read, compiled, every run identified by its hash, and queued unless it is kept.

Every caller outside the lab's command line submits here. A request is data only: a shipped name or fields, never a file of this
machine. User-supplied code is what an admin sent before (`admit`), if the operator allows it at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.database.annotations import NOTHING, Annotation
from longhaul.orchestrator.database.experiments import Experiments, Submission
from longhaul.orchestrator.database.work import Wanted, Work
from longhaul.orchestrator.execution.backend_status import Missing, Place, places
from longhaul.orchestrator.execution.evaluation import up_to_date
from longhaul.orchestrator.execution.formulas import is_current
from longhaul.orchestrator.execution.packets import check_programs
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.plan.captures import add_capture
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.lint import Note
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.preview.preview import Preview, preview
from longhaul.orchestrator.results.packets import kept_packets
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import Experiment, OwnCode, parse_experiment, shipped_experiment
from longhaul.orchestrator.spec.model import Capture
from longhaul.orchestrator.spec.sweep import count_points
from longhaul.orchestrator.spec.user_code.module_sources import admit_sources
from longhaul.orchestrator.spec.yaml_text import LARGEST_BYTES
from longhaul.orchestrator.system.errors import (
    Conflict,
    FidelityBroken,
    NotAllowed,
    OverLimit,
    PlanError,
    RunDamaged,
    SpecError,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

# Reading and compiling occupies a processor, longer with more points; more than this many at once would only wait for each other.
_AT_ONCE = 12
_PATIENCE_S, _SOON_S = 2.0, 3


@dataclass(frozen=True, slots=True)
class Previewed:
    """A preview, what its runs lack here, and how many of them are kept, if all were checked."""

    preview: Preview
    missing: tuple[Missing, ...]
    kept: int | None


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A compiled experiment: as written, the notes on its plan, and its runs."""

    experiment: Experiment
    spec: Mapping[str, Any]
    notes: Sequence[Note]
    wanted: Sequence[Wanted]


class Desk:
    """Takes submitted experiments."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._experiments = Experiments(store.database)
        self._work = Work(store.database)
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    def plan(self, request: Request, *, trusted: bool = False) -> Plan:
        """The plan of the request; nothing is recorded. A `trusted` caller may name submitted code."""
        with self._reading(request, trusted=trusted) as experiment:
            return compile_plan(experiment, **_compiling(request))

    def preview(self, request: Request, *, trusted: bool = False) -> Previewed:
        """A preview of the request while it is written, and whether it could run; nothing is recorded."""
        with self._reading(request, trusted=trusted) as experiment:
            found = preview(experiment, **_compiling(request))
        backend = open_backend(request.backend, self._settings)
        missing = tuple(Missing(*one) for one in backend.check(found.plan.runs[0]))
        if missing or not found.whole:
            return Previewed(found, missing, None)
        ids = dict.fromkeys(run_id(run, backend.identity(run)) for run in found.plan.runs)
        return Previewed(found, missing, len(self._store.catalog.measured_by(list(ids))))

    def places(self, kernel: str | None = None) -> list[Place]:
        """The places where runs can happen, and what each lacks."""
        return list(places(self._settings, kernel))

    @contextmanager
    def _reading(self, request: Request, *, trusted: bool) -> Iterator[Experiment]:
        """The requested experiment, within its caller's limits, while its slot for reading is held."""
        if not self._turns.acquire(timeout=_PATIENCE_S):
            what = f"{_AT_ONCE} other experiments are being read"
            raise OverLimit("reading", "the experiment", what, "try again in a moment", _SOON_S)
        try:
            experiment = self._read(request, OwnCode.SENT if trusted and self._settings.user_code else OwnCode.NONE)
            self._check_count(count_points(experiment.sweep) * (request.repeats or experiment.repeats))
            yield experiment
        finally:
            self._turns.release()

    def submit(self, request: Request, owner: str, idempotency_key: str | None = None, *, trusted: bool = False) -> str:
        """Record and queue it; returns the id of the experiment."""
        # A repeated request after a lost response gets the first experiment, even if limits are reached meanwhile.
        digest = _digest(asdict(request))
        if known := self._experiments.asked_before(owner, idempotency_key, digest):
            return known
        asked = {name: value for name, value in asdict(request).items() if name != "spec"}
        with self._reading(request, trusted=trusted) as experiment:
            wanted = self._wanted(experiment, request.backend, _compiling(request))
        noted = NOTHING.changed(request.title, request.tags, request.comment)
        return self._record(wanted, asked, digest, owner, request.priority, idempotency_key, noted)

    def queue_internal(self, experiment: Experiment, asked: Mapping[str, Any], owner: str) -> str:
        """Record and queue one of the project's experiments for the sandbox, with the original request; returns its id."""
        return self._record(self._wanted(experiment, "sandbox", {}), asked, _digest(asked), owner)

    def _wanted(self, experiment: Experiment, backend_name: str, compiling: Mapping[str, Any]) -> _Compiled:
        """Compile an experiment, packing each run at once: a plan of thousands of runs is never in memory as a whole."""
        changes = {name: compiling[name] for name in ("seed", "repeats") if compiling.get(name) is not None}
        spec = experiment.model_copy(update=changes).model_dump(mode="json", exclude_none=True)
        backend = open_backend(backend_name, self._settings)
        wanted: list[Wanted] = []

        def pack(run: Run) -> None:
            wanted.append(Wanted(run_id(run, backend.identity(run)), run.as_json(), spec, _needs(run, backend)))

        plan = compile_plan(experiment, **compiling, take=pack)
        return _Compiled(plan.experiment, spec, plan.notes, wanted)

    def _record(
        self,
        compiled: _Compiled,
        asked: Mapping[str, Any],
        digest: str,
        owner: str,
        priority: int = 0,
        idempotency_key: str | None = None,
        annotation: Annotation = NOTHING,
    ) -> str:
        experiment, wanted = compiled.experiment, compiled.wanted
        if not wanted:
            raise PlanError("submitting", experiment.experiment, "it has no runs", "give its sweep a point")
        self._measure_again([one.run_id for one in wanted])
        self._capture_again([one for one in wanted if one.captures])
        self._check_quota(owner, len(wanted))
        return self._experiments.submit(
            Submission(
                id=secrets.token_hex(8),
                name=experiment.experiment,
                about=experiment.about,
                owner=owner,
                priority=priority,
                aggregate=experiment.aggregate,
                spec=compiled.spec,
                lint=[asdict(note) for note in compiled.notes],
                asked=asked,
                asked_sha256=digest,
                idempotency_key=idempotency_key,
                runs=wanted,
                annotation=annotation,
            )
        )

    def admit(self, source: str, files: Mapping[str, str]) -> None:
        """Store the sources of a module, under the hash of their content."""
        self.require_user_code("storing module", source)
        admit_sources(files, source, self._settings.cache)

    def has(self, source: str) -> bool:
        """Whether sources with this hash are stored."""
        return (self._settings.cache / "own" / source).is_dir()

    def rerun(self, run_id: str, owner: str, *, trusted: bool = False) -> str:
        """Run a kept run again, with today's programs; returns the id of the experiment with the comparison."""
        kept = self._store.get(run_id)
        run = self._store.planned(kept["run"])
        self._check_users_code(run, kept["run"], trusted=trusted)
        open_backend(run.backend, self._settings).identity(run)
        about = f"Run {kept['run']} once more: is every byte of its trace the same?"
        return self._run_again(kept["run"], run, about, owner)

    def capture(self, run_id: str, asked: Capture, owner: str, *, trusted: bool = False) -> str:
        """Run a kept run again for its packets; returns the id of the experiment with the comparison."""
        kept = self._store.get(run_id)["run"]
        run = add_capture(self._store.planned(kept), asked)
        self._check_users_code(run, kept, trusted=trusted)
        check_programs(run, kept, open_backend(run.backend, self._settings))
        return self._run_again(kept, run, f"Run {kept} once more for its packets", owner)

    def _run_again(self, kept: str, run: Run, about: str, owner: str) -> str:
        """Record an experiment of one kept run, to be compared with it."""
        self._check_quota(owner, 1)
        made, spec = secrets.token_hex(10), self._store.manifest(kept)["spec"]
        wanted = Wanted(
            made, run.as_json(), spec, _needs(run, open_backend(run.backend, self._settings)), rerun_of=kept
        )
        return self._experiments.submit(
            Submission(
                id=secrets.token_hex(8),
                name=run.experiment,
                about=about,
                owner=owner,
                priority=0,
                aggregate="mean",
                spec=spec,
                lint=(),
                asked={"rerun_of": kept},
                asked_sha256=hashlib.sha256(made.encode()).hexdigest(),
                idempotency_key=None,
                runs=[wanted],
            )
        )

    def _check_users_code(self, run: Run, run_id: str, *, trusted: bool) -> None:
        if run.script is not None:
            what = "it is the run of a script of the service's machine, and a service starts none"
            raise Conflict("running again", run_id, what, f"run `longhaul rerun {run_id}` on that machine")
        if any(module.source for module in run.modules):
            self.require_user_code("running again", run_id)
            if not trusted:
                what = "it runs user-supplied code, which only admins may start"
                raise NotAllowed("running again", run_id, what, "ask an admin")

    def require_user_code(self, attempting: str, subject: str) -> None:
        """NotAllowed where the operator of the service has not allowed user-supplied code."""
        if not self._settings.user_code:
            what = "this service takes no user-supplied code"
            raise NotAllowed(attempting, subject, what, "its operator may allow it with LONGHAUL_USER_CODE=on")

    def _read(self, request: Request, own_code: OwnCode) -> Experiment:
        if (request.spec is None) == (request.shipped is None):
            raise SpecError("request", ["give `spec`, the fields of an experiment, or `shipped`, the name of one"])
        if request.shipped is not None:
            return shipped_experiment(request.shipped, request.changes, own_code)
        assert request.spec is not None
        self._check_size(request.spec)
        return parse_experiment(request.spec, overrides=request.changes, own_code=own_code)

    def _check_size(self, spec: Mapping[str, Any]) -> None:
        """Check limits before every point of a sweep is read: the size of its text, and the number of points."""
        if len(json.dumps(spec, ensure_ascii=False, default=str)) > LARGEST_BYTES:
            raise SpecError("experiment", [f"larger than {LARGEST_BYTES // 1024} KiB"])
        sweep = spec.get("sweep")
        lists = [sweep] if isinstance(sweep, list) else list(sweep.values()) if isinstance(sweep, dict) else []
        self._check_count(math.prod(len(values) for values in lists if isinstance(values, list) and values))

    def _check_count(self, runs: int) -> None:
        if runs > (most := self._settings.most_queued):
            raise OverLimit(
                "reading", "the experiment", f"it has {runs} runs, and {most} may wait", "submit it in parts"
            )

    def _measure_again(self, run_ids: Sequence[str]) -> None:
        """Evaluate kept runs of other formulas again; damaged ones are queued to be run again."""
        for key, code in self._store.catalog.measured_by(list(dict.fromkeys(run_ids))).items():
            if self._store.fault(key) is not None:
                self._store.catalog.void(key)
                continue
            if is_current(code):
                continue
            known = self._store.find(key)
            try:
                if known is None:
                    self._store.delete(key)
                else:
                    up_to_date(known, self._store)
            except FidelityBroken:
                self._store.delete(key)
            except RunDamaged:
                self._store.catalog.void(key)

    def _capture_again(self, wanted: Sequence[Wanted]) -> None:
        """Queue kept runs without the wanted packets, which do not change them."""
        for one in wanted:
            if not kept_packets(self._store.derived(one.run_id), Run.from_json(one.run).capture):
                self._store.catalog.void(one.run_id)

    def _check_quota(self, owner: str, runs: int) -> None:
        most = self._settings.most_queued
        if (has := self._work.waiting_of(owner)) + runs > most:
            raise OverLimit(
                "queueing",
                f"{runs} runs",
                f"{owner} has {has} that are not finished, and may have {most}",
                "wait for some, or cancel an experiment",
            )


def _compiling(request: Request) -> dict[str, Any]:
    """The fields of a request that its compilation uses."""
    names = ("seed", "repeats", "backend", "where", "clock", "hosts")
    return {name: getattr(request, name) for name in names}


def _needs(run: Run, backend: Backend) -> str:
    """What a run needs of a machine: a slot, also programs of the machine, the whole machine, also root's rights; or real hosts."""
    if run.hosts:
        return "hosts"
    if run.where == "host":
        return "root"
    if run.clock == "real":
        return "alone"
    return "programs" if backend.programs(run) else "sandbox"


def _digest(asked: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
