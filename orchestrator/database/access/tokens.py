"""Access: tokens, the sessions of web pages that were opened with one, and the log of changes.

    token     lh_<id>_<secret>     shown once; the database has only a hash of the secret; ls_... is one of a link (shares.py)
    session   random, in a cookie; the database has its hash, and the token it was opened with

A secret has 256 random bits, so one hash without salt or stretching is as good as it gets: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from longhaul.orchestrator.database.connection import InDatabase
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.tables import AUDIT, LARGEST_ID, SESSIONS, TOKENS
from longhaul.orchestrator.system.access_settings import USER_NAME
from longhaul.orchestrator.system.errors import AuthError, Conflict, NotFound, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Row = dict[str, Any]

# Each includes those before it.
SCOPES = ("read", "run", "gate", "admin")
# The scope of a link that shares a result (shares.py): less than `read`.
SHARED = "shared"
SESSION_S = 12 * 3600

ID = re.compile(r"[0-9a-f]{12}")
_TOKEN = re.compile(r"l[hs]_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
# The log of changes keeps this many rows; the oldest are deleted, some at a time.
MOST_AUDITED = 1_000_000
_AUDIT_SWEEP = 1000
# What an unknown id is compared with, so that it takes as long as a known one.
_EMPTY_DIGEST = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, and its scope; one that a reverse proxy named has no token."""

    token_id: str
    name: str
    scope: str
    by_proxy: bool = False

    def may(self, scope: str) -> bool:
        """Whether the scope includes this one."""
        return self.scope != SHARED and SCOPES.index(self.scope) >= SCOPES.index(scope)


class Access(InDatabase):
    """Tokens and sessions."""

    def add_token(self, name: str, scope: str, lifetime_s: float | None = None) -> tuple[str, Row]:
        """A new token, to be shown once, and its row."""
        if not USER_NAME.fullmatch(name) or ID.fullmatch(name):
            allowed = "up to 64 letters, digits and . _ @ -, the first a letter or digit, and not in the form of an id"
            raise PlanError("adding token", name, "it is not a valid name", f"allowed: {allowed}")
        if scope not in SCOPES:
            raise PlanError("adding token", name, f"there is no scope {scope!r}", f"known: {', '.join(SCOPES)}")
        if lifetime_s is not None and lifetime_s <= 0:
            raise PlanError("adding token", name, "it would be expired at once", "give it a longer life")
        token, row = new_token(name, scope, lifetime_s)
        with self._database.write() as connection:
            live = select(TOKENS.c.id).where(TOKENS.c.name == name, TOKENS.c.revoked_at.is_(None))
            if connection.execute(live).first() is not None:
                raise Conflict(
                    "adding token", name, "a token of that name exists", "revoke it first, or choose another"
                )
            connection.execute(insert(TOKENS).values(row))
        return token, _public(row)

    def tokens(self) -> list[Row]:
        """All tokens, the oldest first; no secrets."""
        with self._database.read() as connection:
            query = select(TOKENS).where(TOKENS.c.scope != SHARED).order_by(TOKENS.c.created_at)
            return [_public(dict(row._mapping)) for row in connection.execute(query)]

    def revoke(self, name: str) -> Row:
        """End a token by its name or id, and every session that was opened with it."""
        with self._database.write() as connection:
            # Links are no users, and have an id alone.
            named = ((TOKENS.c.name == name) & (TOKENS.c.scope != SHARED)) | (TOKENS.c.id == name)
            live = TOKENS.c.revoked_at.is_(None) & named
            row = connection.execute(select(TOKENS).where(live)).first()
            if row is None:
                raise NotFound(
                    "revoking token", name, "there is no valid token of that name", "see `longhaul token list`"
                )
            at = now()
            end_token(connection, row.id, at)
            return _public(dict(row._mapping) | {"revoked_at": at})

    def any_token(self) -> bool:
        """Whether there is a valid token."""
        with self._database.read() as connection:
            query = select(func.count()).where(TOKENS.c.revoked_at.is_(None), TOKENS.c.scope != SHARED)
            return bool(connection.execute(query).scalar_one())

    def caller(self, token: str) -> Caller:
        """The caller with this token; AuthError does not state the reason."""
        match = _TOKEN.fullmatch(token)
        key, secret = match.groups() if match else ("", "")
        with self._database.read() as connection:
            row = connection.execute(select(TOKENS).where(TOKENS.c.id == key)).one_or_none()
        same = hmac.compare_digest(_digest(secret), row.digest if row else _EMPTY_DIGEST)
        return self._in_force(row if same and match else None)

    def open_session(self, caller: Caller) -> str:
        """A new session for a web page, as the value of its cookie."""
        session = secrets.token_urlsafe(32)
        row = {"digest": _digest(session), "token_id": caller.token_id, "expires_s": time.time() + SESSION_S}
        with self._database.write() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.expires_s < time.time()))
            connection.execute(insert(SESSIONS).values(row))
        return session

    def close_session(self, session: str) -> None:
        """End a session."""
        with self._database.write() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == _digest(session)))

    def session_caller(self, session: str) -> Caller:
        """The caller who opened this session."""
        query = (
            select(TOKENS)
            .join(SESSIONS, SESSIONS.c.token_id == TOKENS.c.id)
            .where(SESSIONS.c.digest == _digest(session), SESSIONS.c.expires_s > time.time())
        )
        with self._database.read() as connection:
            return self._in_force(connection.execute(query).one_or_none())

    def log(self, caller: str, address: str, action: str, subject: str, outcome: int, request_id: str) -> None:
        """Record a change, or an attempt."""
        row = {
            "at": now(),
            "actor": caller,
            "address": address[:64],
            "action": action[:64],
            "subject": subject[:256],
            "outcome": outcome,
            "request_id": request_id,
        }
        with self._database.write() as connection:
            (number,) = connection.execute(insert(AUDIT).values(row)).inserted_primary_key or (0,)
            if number % _AUDIT_SWEEP == 0:
                connection.execute(delete(AUDIT).where(AUDIT.c.id <= number - MOST_AUDITED))

    def audit(self, limit: int, before: int | None = None) -> list[Row]:
        """The log of changes, the newest first."""
        query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(AUDIT.c.id < min(before, LARGEST_ID))
        with self._database.read() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]

    @staticmethod
    def _in_force(row: Any) -> Caller:
        if row is None or row.revoked_at is not None or (row.expires_s is not None and row.expires_s < time.time()):
            raise AuthError("reading the token", "", "it is not a valid token", "ask the operator of this lab for one")
        return Caller(row.id, row.name, row.scope)


def new_token(name: str, scope: str, lifetime_s: float | None) -> tuple[str, Row]:
    """A new token and its row."""
    key, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row: Row = {
        "id": key,
        "name": name,
        "digest": _digest(secret),
        "scope": scope,
        "created_at": now(),
        "expires_s": None if lifetime_s is None else time.time() + lifetime_s,
        "revoked_at": None,
    }
    return f"{'ls' if scope == SHARED else 'lh'}_{key}_{secret}", row


def end_token(connection: Connection, token_id: str, at: str) -> None:
    """Within a transaction: revoke a token and end its sessions."""
    connection.execute(update(TOKENS).where(TOKENS.c.id == token_id).values(revoked_at=at))
    connection.execute(delete(SESSIONS).where(SESSIONS.c.token_id == token_id))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _public(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "digest"}
