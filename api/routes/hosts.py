"""Hosts: physical machines and other exclusive resources, with their leases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from longhaul.api.auth import Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.lab import Lab
from longhaul.api.schemas.experiments import Problem
from longhaul.api.schemas.hosts import AskedLease, Host, HostUse, Lease, StopHosts, Stopped
from longhaul.orchestrator.database.leases import root_slot
from longhaul.orchestrator.execution.hosts import host_row, policy_if_any, stop_in_record
from longhaul.orchestrator.spec.host_policy import Policy
from longhaul.orchestrator.system.errors import HostBusy, NotFound

router = APIRouter(route_class=Reading, prefix="/hosts", tags=["hosts"])

Row = dict[str, Any]
# Name -> lease.
Leases = Mapping[str, Row]
HostId = Annotated[
    str,
    Path(
        alias="id",
        max_length=128,
        pattern=r"^[A-Za-z0-9@._-]+$",
        description="The name of a host.",
        examples=["root@lab"],
    ),
]


@router.get("", summary="List hosts", operation_id="list_hosts")
def list_hosts(lab: TheLab, caller: Reader) -> list[Host]:
    """Every host that can be leased: those of the operator's policy, and root's slot of a machine, which sets up that machine's network."""
    policy, leases = policy_if_any(lab.settings), _leases(lab)
    return [_host(lab, name, caller.name, policy, leases.get(name)) for name in _names(policy, leases)]


@router.post(
    "/stop", summary="Stop everything on hosts", operation_id="stop_hosts", responses={404: {"model": Problem}}
)
def stop(asked: StopHosts, lab: TheLab, caller: Runner) -> Stopped:
    """Cancel every experiment on these hosts and end their leases. Runs there end within seconds and restore what they changed."""
    policy = policy_if_any(lab.settings)
    for name in asked.hosts:
        if policy is None or name not in policy.hosts:
            what = "the host policy does not contain this name"
            raise NotFound("stopping host", name, what, "see GET /hosts")
    if policy is None:
        return Stopped(hosts=[], cancelled=[], closed_s=0.0)
    return Stopped(**stop_in_record(lab.store, policy, caller.name, asked.hosts))


@router.get("/{id}", summary="Read a host", operation_id="read_host")
def read_host(key: HostId, lab: TheLab, caller: Reader) -> Host:
    """The host and its lease."""
    policy, leases = policy_if_any(lab.settings), _leases(lab)
    return _host(lab, _known(key, policy, leases), caller.name, policy, leases.get(key))


@router.post("/{id}/lease", status_code=201, summary="Take a host", operation_id="take_host")
def take(key: HostId, asked: AskedLease, lab: TheLab, caller: Runner) -> Lease:
    """Lease a host: no other caller gets it until the lease is given back or expires. Another request before that extends it, with a new fence."""
    _known(key, policy_if_any(lab.settings), _leases(lab))
    fence = lab.leases.take(key, caller.name, asked.seconds, asked.about)
    if fence is None:
        found = lab.leases.get(key) or {}
        what = f"{found.get('holder')} holds it" + (f" for {found['about']}" if found.get("about") else "")
        raise HostBusy("taking host", key, what, "ask them, or wait until the lease expires")
    return Lease(host=key, holder=caller.name, fence=fence, seconds=asked.seconds)


@router.delete("/{id}/lease", status_code=204, summary="Give a host back", operation_id="give_host_back")
def give_back(
    key: HostId,
    lab: TheLab,
    caller: Runner,
    fence: Annotated[int, Query(ge=1, le=2**31 - 1, description="The fence of the lease.", examples=[1])],
) -> None:
    """End a lease early."""
    _known(key, policy_if_any(lab.settings), _leases(lab))
    if not lab.leases.give_back(key, caller.name, fence):
        raise HostBusy("giving back host", key, f"{caller.name} has no lease with fence {fence}", "see GET /hosts")


def _leases(lab: Lab) -> Leases:
    return {lease["name"]: lease for lease in lab.leases.all()}


def _names(policy: Policy | None, leases: Leases) -> list[str]:
    return sorted({root_slot(), *(policy.hosts if policy else ()), *leases})


def _known(name: str, policy: Policy | None, leases: Leases) -> str:
    if name not in (known := _names(policy, leases)):
        raise NotFound("looking for host", name, "there is no host of this name", f"known: {', '.join(known)}")
    return name


def _host(lab: Lab, name: str, caller: str, policy: Policy | None, found: Row | None) -> Host:
    use = None
    if policy and name in policy.hosts:
        row = host_row(lab.settings, policy, name, found)
        use = HostUse(**{field: row[field] for field in HostUse.model_fields})
    if found is None or found["holder"] is None:
        return Host(id=name, holder=None, until_s=None, about="", use=use)
    fence = found["fence"] if found["holder"] == caller else None
    return Host(id=name, holder=found["holder"], until_s=found["until_s"], about=found["about"], fence=fence, use=use)
