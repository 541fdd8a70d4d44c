"""The types of requests and responses about hosts: leases, permitted use, stopping."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import HOST_NAME, TEXT, WHOLE, Wire


class HostHealth(Wire):
    """The health of a physical host at the last contact."""

    at: str
    ok: bool
    kernel: str | None
    found: list[str] = Field(description="The problems found, a sentence each.")


class HostUse(Wire):
    """The permitted use of a physical host, by the operator's policy."""

    free: bool = Field(description="Whether it is neither leased nor closed for maintenance.")
    rate_bps: int = Field(description="The limit of all test traffic from this host, headers included.")
    run_bytes: int
    day_bytes: int
    longest_s: float
    ports: list[int] = Field(description="The first and the last port of test traffic.")
    peers: dict[str, dict[str, bool]] = Field(
        description="The hosts with which it may exchange traffic, and whether the path to each is provisioned."
    )
    closed: list[list[str]] = Field(description="Its maintenance in the next two weeks: from and until, UTC.")
    health: HostHealth | None


class Host(Wire):
    """A host and its lease."""

    # Defaults are for the client of an older service; this service always sends these fields.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    id: str
    holder: str | None
    until_s: float | None = Field(description="When the lease expires, in seconds since 1970.")
    about: str
    fence: int | None = Field(None, description="The fence of the caller's own lease, needed to give it back.")
    use: HostUse | None = Field(
        None, description="The permitted use of a physical host; null for root's slot of a machine."
    )


class StopHosts(Wire):
    """The hosts on which to stop everything."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"hosts": []}]})

    hosts: list[Annotated[str, Field(max_length=64, pattern=HOST_NAME)]] = Field(
        default=[], max_length=100, description="All hosts if empty."
    )


class Stopped(Wire):
    """What was stopped: runs on these hosts end within seconds, and no run starts there for a while."""

    hosts: list[str]
    cancelled: list[str] = Field(description="The ids of the cancelled experiments.")
    closed_s: float = Field(description="For how many seconds these hosts cannot be leased.")


class AskedLease(Wire):
    """The duration and purpose of a lease."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"seconds": 600, "about": "kernel tests"}]})

    seconds: Annotated[int, Field(ge=1, le=86_400), WHOLE]
    about: Annotated[str, Field(max_length=200, pattern=TEXT)] = ""


class Lease(Wire):
    """The caller's lease of a host; the fence proves it."""

    host: str
    holder: str
    fence: int
    seconds: int
