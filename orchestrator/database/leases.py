"""Exclusive leases of single resources: a host, root's slot of a machine. The lease of a dead holder expires.

Every lease has a higher `fence` than the one before, so that a holder whose lease has expired is refused wherever the fence
is checked.
"""

from __future__ import annotations

import socket
import time
from typing import Any

from sqlalchemy import Connection, and_, case, or_, select, update

from longhaul.orchestrator.database.connection import InDatabase, insert_new
from longhaul.orchestrator.database.tables import LEASES


def root_slot(host: str = "") -> str:
    """The name of the lease for root's slot of a machine, this one by default; a run that sets up its network takes it."""
    return f"root@{host or socket.gethostname()}"


class Leases(InDatabase):
    """The leases in one database."""

    def take(self, name: str, holder: str, lease_s: float, about: str = "") -> int | None:
        """Take a lease: its fence, or None if another holder has it."""
        now_s = time.time()
        with self._database.write() as connection:
            self._insert(connection, name)
            free = or_(LEASES.c.holder.is_(None), LEASES.c.until_s < now_s, LEASES.c.holder == holder)
            still = and_(LEASES.c.holder == holder, LEASES.c.until_s >= now_s)
            since = case((still, LEASES.c.since_s), else_=now_s)
            values = {"holder": holder, "until_s": now_s + lease_s, "about": about, "fence": LEASES.c.fence + 1}
            taken = connection.execute(
                update(LEASES).where(LEASES.c.name == name, free).values(**values, since_s=since)
            ).rowcount
            if not taken:
                return None
            return int(connection.execute(select(LEASES.c.fence).where(LEASES.c.name == name)).scalar_one())

    def seize(self, name: str, holder: str, lease_s: float, about: str = "") -> int:
        """Take a lease from any holder, who finds out at the next renewal."""
        now_s = time.time()
        with self._database.write() as connection:
            self._insert(connection, name)
            values = {"holder": holder, "until_s": now_s + lease_s, "about": about, "fence": LEASES.c.fence + 1}
            connection.execute(update(LEASES).where(LEASES.c.name == name).values(**values, since_s=now_s))
            return int(connection.execute(select(LEASES.c.fence).where(LEASES.c.name == name)).scalar_one())

    def renew(self, name: str, holder: str, fence: int, lease_s: float) -> bool:
        """Extend a lease; False if another holder has it by now."""
        return self._change(name, holder, fence, {"until_s": time.time() + lease_s})

    def give_back(self, name: str, holder: str, fence: int) -> bool:
        """Release a lease."""
        return self._change(name, holder, fence, {"holder": None, "until_s": 0.0, "about": ""})

    def get(self, name: str) -> dict[str, Any] | None:
        """The holder of a lease, if it was ever taken."""
        with self._database.read() as connection:
            row = connection.execute(select(LEASES).where(LEASES.c.name == name)).one_or_none()
        return None if row is None else _lease(row)

    def all(self) -> list[dict[str, Any]]:
        """Every lease that was ever taken."""
        with self._database.read() as connection:
            return [_lease(row) for row in connection.execute(select(LEASES).order_by(LEASES.c.name))]

    @staticmethod
    def _insert(connection: Connection, name: str) -> None:
        new = {"name": name, "holder": None, "fence": 0, "until_s": 0.0, "about": "", "since_s": 0.0}
        insert_new(connection, LEASES, [new])

    def _change(self, name: str, holder: str, fence: int, values: dict[str, Any]) -> bool:
        mine = (LEASES.c.name == name, LEASES.c.holder == holder, LEASES.c.fence == fence)
        with self._database.write() as connection:
            return bool(connection.execute(update(LEASES).where(*mine).values(values)).rowcount)


def _lease(row: Any) -> dict[str, Any]:
    """The present state of a lease: an expired one has no holder."""
    found = dict(row._mapping)
    return found if found["until_s"] >= time.time() else found | {"holder": None, "about": ""}
