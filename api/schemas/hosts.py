"""What goes over the wire about hosts: who has them, what they may be used for, and the end of everything on them."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import HOST_NAME, TEXT, WHOLE, Wire


class HostHealth(Wire):
    """How a real host was when it was last spoken to."""

    at: str
    ok: bool
    kernel: str | None
    found: list[str] = Field(description="What was found there, a sentence each.")


class HostUse(Wire):
    """What the operator's policy lets a real host be used for."""

    free: bool = Field(description="Nobody has it, and it is not closed for maintenance.")
    rate_bps: int = Field(description="The most that all test traffic from there may be, headers included.")
    run_bytes: int
    day_bytes: int
    longest_s: float
    ports: list[int] = Field(description="The first and the last port of test traffic.")
    peers: dict[str, dict[str, bool]] = Field(
        description="The hosts that it may exchange traffic with, and whether the way there is provisioned."
    )
    closed: list[list[str]] = Field(description="When it is in maintenance in the next two weeks: from and until, UTC.")
    health: HostHealth | None


class Host(Wire):
    """A host, and who has it."""

    # What an older service does not tell is filled in by the client; this one tells it always.
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    id: str
    holder: str | None
    until_s: float | None = Field(description="When the lease runs out, in seconds since 1970.")
    about: str
    fence: int | None = Field(None, description="Of the caller's own lease: what it is given back with.")
    use: HostUse | None = Field(None, description="Of a real host; null for root's slot of a machine.")


class StopHosts(Wire):
    """Which hosts everything is to be stopped on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"hosts": []}]})

    hosts: list[Annotated[str, Field(max_length=64, pattern=HOST_NAME)]] = Field(
        default=[], max_length=100, description="All of them where none is named."
    )


class Stopped(Wire):
    """What was stopped: runs on these hosts end within seconds, and nothing begins there for a while."""

    hosts: list[str]
    cancelled: list[str] = Field(description="The ids of the experiments on hosts that were given up.")
    closed_s: float = Field(description="For so many seconds nobody gets these hosts.")


class AskedLease(Wire):
    """For how long a host is wanted, and what for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"seconds": 600, "about": "kernel tests"}]}
    )

    seconds: Annotated[int, Field(ge=1, le=86_400), WHOLE]
    about: Annotated[str, Field(max_length=200, pattern=TEXT)] = ""


class Lease(Wire):
    """A host that is the caller's for a while; the fence proves it."""

    host: str
    holder: str
    fence: int
    seconds: int
