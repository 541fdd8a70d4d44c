"""The types of access: tokens, sessions, and links that share a result."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import TEXT, TOKEN_NAME, WHOLE, Wire
from longhaul.orchestrator.database.statuses import MOST_SHARED_DAYS, MOST_SHARED_RUNS

_RUN = r"^[0-9a-f]{20}$"
_EXPERIMENT = r"^[0-9a-f]{16}$"


class NewToken(Wire):
    """A token to make."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ci", "scope": "run", "days": 90}]})

    name: str = Field(pattern=TOKEN_NAME)
    scope: Literal["read", "run", "gate", "admin"]
    days: Annotated[int, Field(ge=1, le=3650), WHOLE] | None = None


class Token(Wire):
    """A token, without its secret."""

    id: str
    name: str
    scope: str
    created_at: str
    expires_s: float | None
    revoked_at: str | None


class ShownToken(Token):
    """A token with its secret, which is shown once."""

    token: str


class Login(Wire):
    """The token with which a web page logs in."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": "lh_0123456789ab_" + "x" * 43}]})

    token: str = Field(max_length=200, pattern=TEXT)


class Session(Wire):
    """The session's user, and the CSRF token that the page sends with changes."""

    name: str
    scope: str
    csrf_token: str
    by_proxy: bool = Field(description="Whether a reverse proxy names the user, who then cannot log out here.")


class NewShare(Wire):
    """A result to share: runs, of which several are a comparison, or an experiment."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"runs": ["5d41402abc4b2a769e07"], "days": 30}]})

    runs: list[Annotated[str, Field(pattern=_RUN)]] = Field(default=[], max_length=MOST_SHARED_RUNS)
    experiment_id: str | None = Field(None, pattern=_EXPERIMENT)
    days: Annotated[int, Field(ge=1, le=MOST_SHARED_DAYS), WHOLE] = Field(
        30, description="The link expires after so many days."
    )


class ShareLink(Wire):
    """A link, without its secret."""

    id: str
    owner: str = Field(description="The user who shared.")
    runs: list[str]
    experiment_id: str | None
    view: str = Field(description="The view of the web page that it opens, behind the #.")
    created_at: str
    expires_s: float
    revoked_at: str | None


class ShownShareLink(ShareLink):
    """A link with its secret, which is shown once."""

    token: str
    link: str = Field(description="The address to send: it opens the web page with this result, without an account.")
