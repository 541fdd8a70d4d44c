"""The types of links that share a result."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import WHOLE, Wire

_RUN = r"^[0-9a-f]{20}$"
_EXPERIMENT = r"^[0-9a-f]{16}$"


class NewShare(Wire):
    """A result to share: runs, of which several are a comparison, or an experiment."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"runs": ["5d41402abc4b2a769e07"], "days": 30}]}
    )

    runs: list[Annotated[str, Field(pattern=_RUN)]] = Field(default=[], max_length=50)
    experiment_id: str | None = Field(None, pattern=_EXPERIMENT)
    days: Annotated[int, Field(ge=1, le=365), WHOLE] = Field(30, description="The link expires after so many days.")


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
