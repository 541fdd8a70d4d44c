"""The congestion controls of an experiment's `modules`, from their entries; also before the experiment's fields are checked.

Presets and eras fill fields by what a control has, so they need those of `modules` before any other field is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from longhaul.orchestrator.spec.congestion_controls import CongestionControl, find_control
from longhaul.orchestrator.spec.model import OwnCode
from longhaul.orchestrator.spec.presets import Find
from longhaul.orchestrator.spec.user_modules import (
    by_name,
    entries_of,
    entry_of,
    is_reference,
    own_controls,
    place_of,
)
from longhaul.orchestrator.system.settings import load_settings


def controls_of(written: object) -> list[CongestionControl]:
    """The controls in one entry; ValueError states what is needed instead."""
    entry = entry_of(written)
    return [] if entry is None else own_controls(place_of(entry.place, load_settings().cache), entry.name)


def find_early(data: Mapping[str, Any], own_code: OwnCode) -> Find:
    """The controls by name, read once one is looked for; an entry that is refused later has none."""

    @cache
    def own() -> Mapping[str, CongestionControl]:
        controls: list[CongestionControl] = []
        for entry in entries_of(data.get("modules")):
            # A caller who may name no file must not learn its content either.
            if own_code is OwnCode.ANY or (own_code is OwnCode.SENT and is_reference(entry.place)):
                with contextlib.suppress(ValueError):
                    controls += controls_of(entry.at(entry.place))
        return by_name(controls)

    return lambda name: find_control(name, own())
