"""Parameters of queues as a user writes them, those of CAKE in the words of tc, and the base of all parts of an experiment; for path_model.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from longhaul.orchestrator.spec.fields import (
    BucketSize,
    Duration,
    LineRate,
    Period,
    Share,
    StepThreshold,
    Switch,
    one_of,
)

OVERLOADS = ("drop", "overflow")
DROPS_AT = ("dequeue", "enqueue")
# In the order of the kernel's numbers (CAKE_FLOW_*, CAKE_DIFFSERV_*, CAKE_ACK_*, CAKE_ATM_*).
ISOLATIONS = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
DIFFSERVS = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
ACK_FILTERS = ("off", "on", "aggressive")
CELLS = ("none", "atm", "ptm")

_check_filter = one_of(*ACK_FILTERS).__metadata__[0].func


def _ack_filter(value: object) -> object:
    """YAML reads on and off as truths."""
    return _check_filter({True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value)


AckFilter = Annotated[str, BeforeValidator(_ack_filter), WithJsonSchema({"type": "string", "enum": [*ACK_FILTERS]})]


class Part(BaseModel):
    """Every part of an experiment: no unknown keys, no silent conversions, no changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Shaper(Part):
    """A token bucket at the rate of a link: after a pause its bytes pass at once, or at a peak rate, then frames at the link's rate."""

    burst: BucketSize = Field(description="what the bucket holds, a frame or more")
    peak: LineRate | None = Field(None, description="rate at which the bucket's bytes leave; without it, all at once")


class DualPI2(Part):
    """Parameters of a dualpi2 queue (RFC 9332): a Classic queue with PI2, and beside it an L4S queue that it is coupled to."""

    target: Duration = Field("15 ms", description="delay that PI2 aims at in the Classic queue")
    tupdate: Period = Field("16 ms", description="interval of PI2's updates")
    alpha: float = Field(0.16, ge=1 / 256, le=256, description="integral gain of PI2, Hz, in steps of 1/256")
    beta: float = Field(3.2, ge=1 / 256, le=256, description="proportional gain of PI2, Hz, in steps of 1/256")
    step: StepThreshold = Field(
        "1 ms", description="delay, or number of packets, above which the L4S queue marks every packet"
    )
    coupling: int = Field(2, ge=1, le=255, description="coupling factor k: L4S mark probability / base probability")
    classic_protection: Share = Field(
        "10 %",
        description="share of the line that the Classic queue gets however much L4S traffic there is, whole percent",
    )
    overload: one_of(*OVERLOADS) = Field(  # type: ignore[valid-type]
        "drop",
        description="what happens to L4S packets when marks no longer help: drop them, or let the queue overflow",
    )
    drop_at: one_of(*DROPS_AT) = Field("dequeue", description="where PI2 drops and marks Classic packets")  # type: ignore[valid-type]


class Cake(Part):
    """Parameters of a CAKE queue, as an access router has it."""

    bandwidth: LineRate | None = Field(
        None, description="rate of CAKE's own shaper; without it, its packets leave at the rate of the link alone"
    )
    isolation: one_of(*ISOLATIONS) = Field(  # type: ignore[valid-type]
        "triple-isolate",
        description="between whom the line is shared evenly: flows, hosts, or hosts first and flows within each",
    )
    diffserv: one_of(*DIFFSERVS) = Field(  # type: ignore[valid-type]
        "diffserv3", description="classes by the DSCP, each with a share of the line"
    )
    ack_filter: AckFilter = Field(
        "off", description="drops acknowledgements that a later one in the same queue replaces; aggressive: keeps fewer"
    )
    rtt: Period = Field("100 ms", description="round trip that its AQM is tuned for")
    split_gso: Switch = Field(True, description="splits trains of segments (offloads: on) into packets")
    overhead: int | None = Field(
        None,
        ge=0,
        le=256,
        description="bytes of link layer a packet, which its shaper adds to the IP packet instead of the Ethernet header",
    )
    mpu: int = Field(0, ge=0, le=256, description="least bytes that its shaper counts for a packet")
    cells: one_of(*CELLS) = Field("none", description="cells that its shaper counts: ATM's of 53 bytes, or PTM's 65/64")  # type: ignore[valid-type]
