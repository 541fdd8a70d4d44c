"""The fields of the experiment format as a reference shows them: docs/experiment-format.md, and `longhaul explain FIELD`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic.fields import FieldInfo

from longhaul.orchestrator.spec import model
from longhaul.orchestrator.spec.sections import flow_parts, path_model, queue_parameters


def _part(field: FieldInfo) -> type[queue_parameters.Part] | None:
    """The part of the format in a field, if any."""
    found = (
        one for one in get_args(field.annotation) if isinstance(one, type) and issubclass(one, queue_parameters.Part)
    )
    return next(found, None)


# The path of each part in an experiment; empty for the whole file.
PARTS: tuple[tuple[str, type[queue_parameters.Part]], ...] = (
    ("", model.Experiment),
    ("path", path_model.Path),
    ("path.one_way", path_model.OneWay),
    ("path.burst", path_model.Burst),
    ("path.police", path_model.Police),
    ("path.dualpi2", queue_parameters.DualPI2),
    ("path.shaper", queue_parameters.Shaper),
    ("path.cake", queue_parameters.Cake),
    ("links", path_model.Link),
    ("flows", model.Flow),
    *((f"flows.{name}", part) for name in model.TRAFFIC if (part := _part(model.Flow.model_fields[name]))),
    ("flows.command", flow_parts.Command),
    ("nodes", model.Node),
    ("schedule", model.Change),
    ("schedule.flows", model.FlowSettings),
    ("capture", model.Capture),
    ("expect", model.Expected),
)


def all_fields() -> Iterator[tuple[str, FieldInfo]]:
    """Every field by its whole path, as in path.buffer."""
    for where, part in PARTS:
        for name, field in part.model_fields.items():
            yield (f"{where}.{name}" if where else name), field


def meaning_of(field: FieldInfo) -> str:
    """The field's description, with the bounds of one that is a plain number."""
    bounds = {type(bound).__name__: bound for bound in field.metadata}
    lowest = getattr(bounds.get("Ge"), "ge", None)
    above, highest = getattr(bounds.get("Gt"), "gt", None), getattr(bounds.get("Le"), "le", None)
    if highest is None:
        return field.description or ""
    return f"{field.description}; {f'above {above}' if lowest is None else lowest} to {highest}"


def default_of(field: FieldInfo) -> str:
    """The default as people write it: "needed" without one, empty if leaving the field out leaves it out."""
    if field.is_required():
        return "needed"
    default: Any = field.get_default(call_default_factory=True)
    if default is None or default in ([], {}, ""):
        return ""
    return "on" if default is True else "off" if default is False else str(default)
