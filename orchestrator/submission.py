"""A request becomes an experiment of record: read, compiled, every run named by its hash, and queued unless it is kept.

This is the way into the lab for whoever is not at its command line. What is asked for is data alone: a shipped name or
fields, never a file of this machine. Code of one's own is what an admin sent before (`admit`), where the operator allows it at all.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from orchestrator.backends import open_backend
from orchestrator.backends.base import Backend
from orchestrator.errors import FidelityBroken, NotAllowed, OverLimit, PlanError, SpecError
from orchestrator.judging import measured_by, up_to_date
from orchestrator.own_sources import admit_sources
from orchestrator.plan import Plan, compile_plan
from orchestrator.request import Request
from orchestrator.results.experiments import Experiments, Submission
from orchestrator.results.store import Store
from orchestrator.results.work import Wanted, Work
from orchestrator.run import Run, run_id
from orchestrator.settings import Settings
from orchestrator.spec import Experiment, OwnCode, parse_experiment, shipped_experiment


class Desk:
    """Where experiments are handed in."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._experiments = Experiments(store.database)
        self._work = Work(store.database)

    def plan(self, request: Request, *, trusted: bool = False) -> Plan:
        """What the request comes to; nothing is recorded. Who is `trusted` may name code that was sent here."""
        return compile_plan(
            self._read(request, OwnCode.SENT if trusted and self._settings.user_code else OwnCode.NONE),
            seed=request.seed,
            repeats=request.repeats,
            backend=request.backend,
            where=request.where,
            clock=request.clock,
        )

    def submit(self, request: Request, owner: str, idempotency_key: str | None = None, *, trusted: bool = False) -> str:
        """Record and queue it; the id of the experiment."""
        plan = self.plan(request, trusted=trusted)
        experiment = plan.experiment
        if not plan.runs:
            raise PlanError("submitting", experiment.experiment, "it has no runs", "give its sweep a point")
        spec = experiment.model_dump(mode="json", exclude_none=True)
        backend = open_backend(request.backend, self._settings)
        wanted = [
            Wanted(run_id(run, backend.identity(run)), run.as_json(), spec, _needs(run, backend)) for run in plan.runs
        ]
        self._measure_again([one.run_id for one in wanted])
        self._hold_to_quota(owner, len(wanted))
        asked = {name: value for name, value in asdict(request).items() if name != "spec"}
        return self._experiments.submit(
            Submission(
                id=secrets.token_hex(8),
                name=experiment.experiment,
                about=experiment.about,
                owner=owner,
                priority=request.priority,
                aggregate=experiment.aggregate,
                spec=spec,
                lint=plan.lint,
                asked=asked,
                asked_sha256=_digest(request),
                idempotency_key=idempotency_key,
                runs=wanted,
            )
        )

    def admit(self, source: str, files: Mapping[str, str]) -> None:
        """Take the sources of a module in, under the hash of their content."""
        self._insist_on_user_code("taking in module", source)
        admit_sources(files, source, self._settings.cache)

    def has(self, source: str) -> bool:
        """Whether sources with this hash are here."""
        return (self._settings.cache / "own" / source).is_dir()

    def rerun(self, run_id: str, owner: str, *, trusted: bool = False) -> str:
        """Carry a kept run out again, with today's programs; the id of the experiment that says what came of it."""
        kept = self._store.get(run_id)
        manifest = self._store.manifest(kept["run"])
        run = Run.from_json(manifest["run"])
        if any(module.source for module in run.modules):
            self._insist_on_user_code("running again", kept["run"])
            if not trusted:
                what = "it runs code of somebody's own, which admins alone may start"
                raise NotAllowed("running again", kept["run"], what, "ask an admin")
        backend = open_backend(run.backend, self._settings)
        backend.identity(run)
        self._hold_to_quota(owner, 1)
        made = secrets.token_hex(10)
        asked = {"rerun_of": kept["run"]}
        wanted = Wanted(made, run.as_json(), manifest["spec"], _needs(run, backend), rerun_of=kept["run"])
        return self._experiments.submit(
            Submission(
                id=secrets.token_hex(8),
                name=run.experiment,
                about=f"Run {kept['run']} once more: is every byte of its trace the same?",
                owner=owner,
                priority=0,
                aggregate="mean",
                spec=manifest["spec"],
                lint=(),
                asked=asked,
                asked_sha256=hashlib.sha256(made.encode()).hexdigest(),
                idempotency_key=None,
                runs=[wanted],
            )
        )

    def _insist_on_user_code(self, attempting: str, subject: str) -> None:
        if not self._settings.user_code:
            what = "this service takes no code of one's own"
            raise NotAllowed(attempting, subject, what, "its operator may allow it with LONGHAUL_USER_CODE=on")

    def _read(self, request: Request, own_code: OwnCode) -> Experiment:
        if (request.spec is None) == (request.shipped is None):
            raise SpecError("request", ["give `spec`, the fields of an experiment, or `shipped`, the name of one"])
        if request.shipped is not None:
            return shipped_experiment(request.shipped, request.changes, own_code)
        assert request.spec is not None
        return parse_experiment(request.spec, overrides=request.changes, own_code=own_code)

    def _measure_again(self, run_ids: Sequence[str]) -> None:
        """Of runs that are kept, those that other formulas measured."""
        for key, code in self._store.catalog.measured_by(list(dict.fromkeys(run_ids))).items():
            if code == measured_by() and self._store.directory(key).is_dir():
                continue
            known = self._store.find(key)
            try:
                if known is None:
                    self._store.delete(key)
                else:
                    up_to_date(known, self._store)
            except FidelityBroken:
                self._store.delete(key)

    def _hold_to_quota(self, owner: str, runs: int) -> None:
        most = self._settings.most_queued
        if (has := self._work.waiting_of(owner)) + runs > most:
            raise OverLimit(
                "queueing",
                f"{runs} runs",
                f"{owner} has {has} that are not finished, and may have {most}",
                "wait for some, or cancel an experiment",
            )


def _needs(run: Run, backend: Backend) -> str:
    """What of a machine a run takes: a slot, that and programs of the machine, a machine to itself, or that with root's rights."""
    if run.where == "host":
        return "root"
    if run.clock == "real":
        return "alone"
    return "programs" if backend.programs(run) else "sandbox"


def _digest(request: Request) -> str:
    return hashlib.sha256(json.dumps(asdict(request), sort_keys=True, default=str).encode()).hexdigest()
