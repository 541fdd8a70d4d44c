"""Exclusive leases of what there is one of: a host, root's slot of a machine. Whoever dies lets go when the lease runs out.

Every lease that is given has a higher `fence` than the one before, so that whoever held an older one, and was away for too
long, is told so wherever the fence is asked for.
"""

from __future__ import annotations

import socket
import time
from typing import Any

from sqlalchemy import Connection, and_, case, or_, select, update

from longhaul.orchestrator.database.connection import Database, insert_new
from longhaul.orchestrator.database.tables import LEASES


def root_slot(host: str = "") -> str:
    """What the lease of root's slot of a machine, this one by default, is called: whoever sets up its network has it."""
    return f"root@{host or socket.gethostname()}"


class Leases:
    """Who has what, for how long."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, name: str, holder: str, lease_s: float, about: str = "") -> int | None:
        """The fence of a lease that is now the holder's; None where somebody else has it."""
        now_s = time.time()
        with self._database.write() as connection:
            self._insert(connection, name)
            free = or_(LEASES.c.holder.is_(None), LEASES.c.until_s < now_s, LEASES.c.holder == holder)
            still = and_(LEASES.c.holder == holder, LEASES.c.until_s >= now_s)
            since = case((still, LEASES.c.since_s), else_=now_s)
            held = {"holder": holder, "until_s": now_s + lease_s, "about": about, "fence": LEASES.c.fence + 1}
            taken = connection.execute(
                update(LEASES).where(LEASES.c.name == name, free).values(**held, since_s=since)
            ).rowcount
            if not taken:
                return None
            return int(connection.execute(select(LEASES.c.fence).where(LEASES.c.name == name)).scalar_one())

    def seize(self, name: str, holder: str, lease_s: float, about: str = "") -> int:
        """Take it whoever has it; who had it finds out at their next word."""
        now_s = time.time()
        with self._database.write() as connection:
            self._insert(connection, name)
            held = {"holder": holder, "until_s": now_s + lease_s, "about": about, "fence": LEASES.c.fence + 1}
            connection.execute(update(LEASES).where(LEASES.c.name == name).values(**held, since_s=now_s))
            return int(connection.execute(select(LEASES.c.fence).where(LEASES.c.name == name)).scalar_one())

    def renew(self, name: str, holder: str, fence: int, lease_s: float) -> bool:
        """Hold it for longer; False where it has become somebody else's."""
        return self._change(name, holder, fence, {"until_s": time.time() + lease_s})

    def give_back(self, name: str, holder: str, fence: int) -> bool:
        """Let go of it."""
        return self._change(name, holder, fence, {"holder": None, "until_s": 0.0, "about": ""})

    def get(self, name: str) -> dict[str, Any] | None:
        """Who has it, if it was ever asked for."""
        with self._database.read() as connection:
            row = connection.execute(select(LEASES).where(LEASES.c.name == name)).one_or_none()
        return None if row is None else _lease(row)

    def all(self) -> list[dict[str, Any]]:
        """Every lease that was ever asked for."""
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
    """As it is now: one that has run out is nobody's."""
    found = dict(row._mapping)
    return found if found["until_s"] >= time.time() else found | {"holder": None, "about": ""}
