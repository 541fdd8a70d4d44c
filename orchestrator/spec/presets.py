"""Flows by the names of published studies, and the defaults of older kernels: fields that an experiment can leave out.

A preset fills the fields of a flow that the experiment leaves out; a field in the experiment takes precedence: `window: null`
removes a preset's window. `label` states what a modern kernel runs under the study's name.

    flows: [{name: a, preset: unpa/vegas}]      is      {name: a, cc: vegas, variant: vegas, params: {alpha: 1 packet, ...}, ...}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Any, TypeGuard

from longhaul.orchestrator.spec.congestion_controls import CongestionControl, find_control
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """A flow's fields, and how close they are to the study."""

    fields: Mapping[str, Any]
    label: str
    params: Mapping[str, Any] = field(default_factory=dict)


# NS-2's senders never have more than 20 packets in flight (window_), begin with two, and have no hybrid slow start.
_UNPA = {"window": "20 packets", "initial_window": 2, "sack": True, "recovery": "dupthresh"}
_SAME = "the kernel's, with NS-2's window of 20 packets"


def _unpa(
    variant: str, label: str = _SAME, *, cc: str = "", params: Mapping[str, Any] | None = None, **more: Any
) -> Preset:
    return Preset({"cc": cc or variant, "variant": variant, **_UNPA, **more}, label, params or {})


_RENO_ALIKE = "without SACK Linux always repairs as NewReno does: the same as unpa/{}"

PRESETS: Mapping[str, Preset] = {
    "unpa/reno": _unpa("reno", _RENO_ALIKE.format("newreno"), sack=False),
    "unpa/newreno": _unpa("newreno", _RENO_ALIKE.format("reno"), cc="reno", sack=False),
    "unpa/sack": _unpa("sack", "Reno with RFC 6675's three duplicates; from Linux 6.17 on the same as unpa/fack", cc="reno"),
    "unpa/fack": _unpa("fack-rack", "FACK left Linux with 4.15: its successor RACK instead", cc="reno", recovery="rack"),
    "unpa/vegas": _unpa(
        "vegas", "Linux's with NS-2's alpha and beta", params={"alpha": "1 packet", "beta": "3 packets", "gamma": "1 packet"}
    ),
    "unpa/veno": _unpa("veno"),
    "unpa/lp": _unpa("lp"),
    "unpa/westwood": _unpa("westwood"),
    "unpa/highspeed": _unpa("highspeed"),
    "unpa/htcp": _unpa("htcp"),
    # Its code lifts the limit of the window as it starts (snd_cwnd_clamp = 65535), and NS-2's window_ is that limit.
    "unpa/hybla": _unpa(
        "hybla", "the kernel's; alone it has no window of 20 packets, as in NS-2", params={"rtt0": "25 ms"}, window=None
    ),
    "unpa/bic": _unpa("bic"),
    "unpa/cubic": _unpa("cubic", "the kernel's without hybrid slow start, with NS-2's window of 20 packets", hystart=False),
    "unpa/compound": _unpa("compound", "Longhaul's module, with NS-2's window of 20 packets"),
    "unpa/illinois": _unpa("illinois"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Era:
    """The defaults of a flow's fields."""

    fields: Mapping[str, Any]
    about: str


ERAS: Mapping[str, Era] = {
    "2.6": Era(
        {"initial_window": 3, "recovery": "dupthresh", "hystart": False},
        "Linux 2.6.18 to 2.6.26: three initial segments (RFC 3390), losses detected by three duplicates, no hybrid slow start",
    ),
}


# The control of a name or alias; ValueError for an unknown one.
Find = Callable[[str], CongestionControl]


def spelt_out(data: Mapping[str, Any], udp: Collection[str], find: Find = find_control) -> dict[str, Any]:
    """An experiment's data with the fields that presets and its era add to its flows, except flows with a field of `udp`.

    An entry that is not a flow is left for the check of fields.
    """
    flows = data.get("flows")
    if not isinstance(flows, list):
        return dict(data)
    era = ERAS.get(data["cc_era"]) if isinstance(data.get("cc_era"), str) else None
    return {**data, "flows": [_flow(flow, era, find) if _is_tcp(flow, udp) else flow for flow in flows]}


def _is_tcp(flow: object, udp: Collection[str]) -> TypeGuard[dict[str, Any]]:
    return isinstance(flow, dict) and not any(name in flow for name in udp)


def _flow(written: Mapping[str, Any], era: Era | None, find: Find) -> dict[str, Any]:
    flow = dict(written)
    preset = PRESETS.get(flow["preset"]) if isinstance(flow.get("preset"), str) else None
    if preset is not None:
        flow = {**_possible(preset.fields, find), **flow}
        params = flow.get("params", {})
        if preset.params and isinstance(params, dict) and flow["cc"] == preset.fields["cc"]:
            flow["params"] = {**preset.params, **params}
    return flow if era is None else {**_fitting(era, flow, find), **flow}


def _possible(fields: Mapping[str, Any], find: Find) -> dict[str, Any]:
    """A preset's fields, without hybrid slow start where a user-supplied control of that name has none."""
    has_hystart = find(fields["cc"]).hystart is not None
    return {name: value for name, value in fields.items() if name != "hystart" or has_hystart}


def _fitting(era: Era, flow: Mapping[str, Any], find: Find) -> dict[str, Any]:
    """The era's fields, without hybrid slow start where the congestion control has none or its parameter is given."""
    fields = dict(era.fields)
    try:
        hystart = find(str(flow.get("cc") or "cubic")).hystart
    except ValueError:
        hystart = None
    if hystart is None or hystart[0] in (flow.get("params") or {}):
        del fields["hystart"]
    return fields
