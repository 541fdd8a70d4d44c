"""The search fields of runs and experiments, and the one line of words by which lists are searched.

    " 5d41402abc4b2a769e07 apptcp-rtt owner=ada backend=sandbox cc=apptcp cc=bic topology=dumbbell bandwidth=622mbit/s rtt=300ms ... "

Every word is between two spaces, in lower case, and a quantity is one word with its unit, so that `cc=bic` is a word
and never the beginning of another. All searchable text is in that line, and one index contains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.units import (
    DURATION_UNITS,
    RATE_UNITS,
    SIZE_UNITS,
    format_duration,
    format_rate,
    spell_number,
)

# An index of PostgreSQL takes rows of 2704 bytes; longer lines lose only flows beyond the first dozens.
_MOST_BYTES = 2000
_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=[a-zµμ%])")
_AROUND_SIGN = re.compile(r" ?= ?")
_RERUN = "rerun="
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,2})?)([^0-9]*)")
_PLAIN_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,2})?")
_FACTORS = {
    **{unit.lower(): float(factor) for units in (RATE_UNITS, SIZE_UNITS) for unit, factor in units.items()},
    **{unit: float(factor) for unit, factor in DURATION_UNITS.items()},
    "%": 0.01,
}

Run = Mapping[str, Any]


def normal(text: str) -> str:
    """The form of words: `300 ms` is `300ms`, in lower case."""
    return _BEFORE_UNIT.sub("", " ".join(text.lower().split()))


def asked_words(text: str) -> list[str]:
    """The words of a search: `seed = 5` is `seed=5`."""
    return normal(_AROUND_SIGN.sub("=", " ".join(text.split()))).split()


def spellings(named: str) -> list[str]:
    """A named word with its number in each spelling that runs were kept with: `loss=1e-5` is `loss=1e-05` as well."""
    name, _, value = named.partition("=")
    forms = [value, spell_number(value)]
    if _PLAIN_NUMBER.fullmatch(value):
        forms.append(str(float(value)))
    return [f"{name}={form}" for form in dict.fromkeys(forms)]


def word(name: str, value: str) -> str:
    """A named word: a value of several words becomes one."""
    return f"{name}={normal(value).replace(' ', '-')}"


def magnitude_of(one: str) -> float | None:
    """The number of a named word, in the smallest unit of its kind, so that `rtt=2s` is more than `rtt=300ms`; None without one."""
    match = _NUMBER.fullmatch(one.partition("=")[2])
    return None if match is None else float(match[1]) * _FACTORS.get(match[2], 1.0)


def line_of(words: Iterable[str]) -> str:
    """Words as the database stores them."""
    line = " " + " ".join(dict.fromkeys(filter(None, words))) + " "
    return line.encode()[:_MOST_BYTES].decode(errors="ignore").rpartition(" ")[0] + " "


def words_of(run_id: str, line: str) -> list[str]:
    """The words of a line that are indexed: all but the id, and of a field those without what it belongs to, as in `.rtt=300ms`."""
    found = [word for word in line.split() if word != run_id]
    for word in tuple(found):
        field, sign, value = word.partition("=")
        while sign and "." in field:
            field = field.partition(".")[2]
            found.append(f".{field}={value}")
    return list(dict.fromkeys(found))


def controls_of(flows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The congestion controls of flows, each once, in their order."""
    return list(dict.fromkeys(flow["cc"] for flow in flows if flow.get("cc")))


def run_traits(
    run_id: str, experiment: str, owner: str | None, run: Run, rerun_of: str | None = None
) -> dict[str, Any]:
    """The columns of a run from its run.json, and from the kept run that it repeats."""
    meaning, flows, point = run["meaning"], run["flows"], run["point"]
    controls = controls_of(flows)
    named = (value for flow in flows for value in (flow.get("variant"), flow["name"]) if value)
    words = [
        run_id,
        *([f"{_RERUN}{rerun_of}"] if rerun_of else []),
        *_common(experiment, owner, run["backend"], controls),
        *_path(meaning),
        f"kernel={run['kernel']}",
        f"seed={run['seed']}",
        *(word(field, value) for field, value in point.items()),
        *(normal(value).replace(" ", "-") for value in dict.fromkeys(named)),
    ]
    return {
        "topology": meaning["topology"],
        "bandwidth_bps": meaning["bandwidth_bps"],
        "rtt_us": meaning["rtt_us"],
        "controls": " ".join(controls),
        "words": line_of(words),
    }


# Of an experiment or a run that repeats a kept run.
IS_RERUN = f" {_RERUN}"


def rerun_in(words: str) -> str | None:
    """The kept run that the run or experiment with this line of words repeats."""
    return next((one.removeprefix(_RERUN) for one in words.split() if one.startswith(_RERUN)), None)


def without_words(row: dict[str, Any]) -> dict[str, Any]:
    """The row without its index words, which alone contain the kept run that this one repeats."""
    words = row.pop("words")
    return row | {"rerun_of": rerun_in(words)}


def experiment_traits(
    key: str, name: str, about: str, owner: str, runs: Iterable[Run], rerun_of: str | None = None
) -> dict[str, Any]:
    """The columns of an experiment from its runs."""
    controls: dict[str, None] = {}
    paths: dict[str, None] = {}
    backend = ""
    for run in runs:
        backend = run["backend"]
        controls |= dict.fromkeys(controls_of(run["flows"]))
        paths |= dict.fromkeys(_path(run["meaning"]))
    again = [f"{_RERUN}{rerun_of}"] if rerun_of else []
    words = [key, *again, *_common(name, owner, backend, list(controls)), *paths, *normal(about).split()]
    return {"backend": backend, "controls": " ".join(controls), "words": line_of(words)}


def _path(meaning: Mapping[str, Any]) -> list[str]:
    return [
        word("topology", meaning["topology"]),
        word("bandwidth", format_rate(meaning["bandwidth_bps"])),
        word("rtt", format_duration(meaning["rtt_us"])),
    ]


def numbers_of(document: RunDocument) -> dict[str, float | None]:
    """The columns of a run from its result; the round trip and the loss are the means of its flows."""
    flows = document["flows"]
    round_trips = [times["mean"] for flow in flows if (times := flow.get("rtt_ms")) is not None]
    losses = [loss for flow in flows if (loss := flow.get("loss_ratio")) is not None]
    return {
        "utilisation": document["path"].get("utilisation"),
        "jain": document.get("jain"),
        "goodput_bps": document.get("goodput_total"),
        "rtt_mean_ms": fmean(round_trips) if round_trips else None,
        "loss_ratio": fmean(losses) if losses else None,
    }


def _common(name: str, owner: str | None, backend: str, controls: Iterable[str]) -> list[str]:
    who = [word("owner", owner)] if owner else []
    return [name, *who, f"backend={backend}", *(f"cc={control}" for control in controls)]
