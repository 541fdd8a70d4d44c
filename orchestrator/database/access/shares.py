"""Links that share a result: each has a token that may read one run, a comparison of runs, or an experiment with its runs, until it expires
or is revoked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, insert, select

from longhaul.orchestrator.database.access.tokens import SHARED, end_token, new_token
from longhaul.orchestrator.database.connection import InDatabase
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.statuses import MOST_SHARED_DAYS, MOST_SHARED_RUNS
from longhaul.orchestrator.database.tables import EXPERIMENT_RUNS, EXPERIMENTS, RUNS, SHARES, TOKENS
from longhaul.orchestrator.system.errors import NotFound, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Share:
    """A link, without its secret: the runs, or the experiment, that it shows."""

    id: str
    owner: str
    runs: tuple[str, ...]
    experiment_id: str | None
    created_at: str
    expires_s: float
    revoked_at: str | None

    @property
    def view(self) -> str:
        """The address of what it shows, within the web page."""
        if self.experiment_id is not None:
            return f"experiments/{self.experiment_id}"
        return f"runs/{self.runs[0]}" if len(self.runs) == 1 else f"compare?runs={','.join(self.runs)}"


class Shares(InDatabase):
    """The shares of one database."""

    def add(
        self, owner: str, lifetime_s: float, *, runs: Sequence[str] = (), experiment_id: str | None = None
    ) -> tuple[str, Share]:
        """A new share and its token, which is shown once; NotFound."""
        runs = list(dict.fromkeys(runs))
        if bool(runs) == (experiment_id is not None):
            raise PlanError("sharing", "", "a link shows either runs or an experiment", "give one of them")
        if len(runs) > MOST_SHARED_RUNS:
            raise PlanError(
                "sharing", f"{len(runs)} runs", f"a link shows up to {MOST_SHARED_RUNS} runs", "share fewer"
            )
        if not 0 < lifetime_s <= MOST_SHARED_DAYS * DAY_S:
            raise PlanError("sharing", "", f"a link lasts at most {MOST_SHARED_DAYS} days", "give it a shorter life")
        token, row = new_token("", SHARED, lifetime_s)
        row["name"] = f"share-{row['id']}"
        share = {"token_id": row["id"], "owner": owner, "runs": json.dumps(runs), "experiment_id": experiment_id}
        with self._database.write() as connection:
            if experiment_id is not None:
                known = connection.execute(select(EXPERIMENTS.c.id).where(EXPERIMENTS.c.id == experiment_id)).first()
                if known is None:
                    raise NotFound("sharing experiment", experiment_id, "there is no experiment with this id")
            there = set(connection.execute(select(RUNS.c.id).where(RUNS.c.id.in_(runs))).scalars())
            if missing := [run for run in runs if run not in there]:
                raise NotFound("sharing run", missing[0], "there is no run with this id, or it was pruned")
            connection.execute(insert(TOKENS).values(row))
            connection.execute(insert(SHARES).values(share))
        return token, self.get(row["id"])

    def get(self, share_id: str) -> Share:
        """A share by its id; NotFound."""
        with self._database.read() as connection:
            row = connection.execute(_shares().where(SHARES.c.token_id == share_id)).one_or_none()
        if row is None:
            raise NotFound("looking for share", share_id, "there is no share with this id", "see GET /shares")
        return _share(row)

    def of(self, owner: str | None = None) -> list[Share]:
        """All shares, or those of one owner, the newest first."""
        query = _shares().order_by(TOKENS.c.created_at.desc(), TOKENS.c.id.desc())
        if owner is not None:
            query = query.where(SHARES.c.owner == owner)
        with self._database.read() as connection:
            return [_share(row) for row in connection.execute(query)]

    def revoke(self, share_id: str) -> Share:
        """End a share and every page that it has opened."""
        if self.get(share_id).revoked_at is None:
            with self._database.write() as connection:
                end_token(connection, share_id, now())
        return self.get(share_id)

    def shows_run(self, share_id: str, run_id: str) -> bool:
        """Whether the share shows this run, itself or as one of its experiment."""
        share = self.get(share_id)
        if share.experiment_id is None:
            return run_id in share.runs
        its = (EXPERIMENT_RUNS.c.experiment_id == share.experiment_id) & (EXPERIMENT_RUNS.c.run_id == run_id)
        with self._database.read() as connection:
            return connection.execute(select(EXPERIMENT_RUNS.c.run_id).where(its)).first() is not None


def _shares() -> Select[Any]:
    columns = (TOKENS.c.id, SHARES.c.owner, SHARES.c.runs, SHARES.c.experiment_id)
    times = (TOKENS.c.created_at, TOKENS.c.expires_s, TOKENS.c.revoked_at)
    return select(*columns, *times).join(SHARES, SHARES.c.token_id == TOKENS.c.id)


def _share(row: Any) -> Share:
    fields = row._mapping
    return Share(**{**fields, "runs": tuple(json.loads(fields["runs"]))})
