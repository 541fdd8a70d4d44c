"""Changed plans: a run is judged by one plan while the guest ran another one.

Each kind changes one property of all states of the path or of one flow, by enough to be read back or measured; features that a run
does not have (a delay line, a queue with a limit) cannot be changed. Offloads are not in a plan: `agent_with_offloads` builds an
agent that leaves them on and reports that they are off.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns

from longhaul.orchestrator.plan.qdiscs import DELAYS, has_rate
from longhaul.orchestrator.plan.run import DeviceChange, End, Flow, Option, Qdisc, Run
from longhaul.orchestrator.system.installation import AGENT_SOURCES, FILES

Options = Mapping[str, Option]
# The changed run; None where there is nothing to change.
Tamper = Callable[[Run, random.Random], Run | None]

_LEAST_MTU = 576


def _number(options: Options, name: str) -> int:
    value = options.get(name)
    return value if isinstance(value, int) else 0


def _qdiscs(run: Run, change: Callable[[str, Qdisc], Options]) -> Run | None:
    """A run with other options of queueing disciplines, from its start and after each change of its schedule."""

    def other(dev: str, qdisc: Qdisc) -> Qdisc:
        return replace(qdisc, options={**qdisc.options, **change(dev, qdisc)})

    def end_of(end: End) -> End:
        return replace(end, qdiscs=tuple(other(end.dev, qdisc) for qdisc in end.qdiscs))

    wires = tuple(replace(wire, ends=(end_of(wire.ends[0]), end_of(wire.ends[1]))) for wire in run.wires)
    schedule = tuple(
        replace(one, qdiscs=tuple(other(one.dev, qdisc) for qdisc in one.qdiscs))
        if isinstance(one, DeviceChange)
        else one
        for one in run.schedule
    )
    changed = replace(run, wires=wires, schedule=schedule)
    return changed if changed != run else None


def _rate(run: Run, chance: random.Random) -> Run | None:
    dev, factor = run.links[0].dev, chance.choice([0.5, 0.9, 0.99, 1.01, 1.1, 2])

    def slower(on: str, qdisc: Qdisc) -> Options:
        return (
            {"rate_bps": int(_number(qdisc.options, "rate_bps") * factor) // 8 * 8}
            if on == dev and has_rate(qdisc)
            else {}
        )

    return _qdiscs(run, slower)


def _delay(run: Run, chance: random.Random) -> Run | None:
    more_ns = chance.choice([50_000, 1_000_000, 20_000_000])

    def longer(_: str, qdisc: Qdisc) -> Options:
        delay_ns = _number(qdisc.options, "delay_ns")
        return {"delay_ns": delay_ns + more_ns} if qdisc.kind in DELAYS and delay_ns else {}

    return _qdiscs(run, longer)


def _buffer(run: Run, chance: random.Random) -> Run | None:
    dev, factor = run.links[0].dev, chance.choice([0.5, 0.8, 1.25, 4])

    def larger(on: str, qdisc: Qdisc) -> Options:
        name = "memory_bytes" if qdisc.kind == "cake" else "limit"
        limit = _number(qdisc.options, name)
        changed = max(1, int(limit * factor)) if max(1, int(limit * factor)) != limit else limit + 1
        return {name: changed} if on == dev and qdisc.handle == run.links[0].queue and limit else {}

    return _qdiscs(run, larger)


def _loss(run: Run, chance: random.Random) -> Run | None:
    more = round(chance.choice([0.001, 0.01, 0.1]) * 2**32)

    def lossier(on: str, qdisc: Qdisc) -> Options:
        if qdisc.kind not in DELAYS or on not in run.flows[0].forward:
            return {}
        return {"loss_2p32": min(_number(qdisc.options, "loss_2p32") + more, 2**32 - 1), "gemodel_2p32": None}

    return _qdiscs(run, lossier)


def _mtu(run: Run, chance: random.Random) -> Run | None:
    mtu = run.least_mtu - chance.choice([8, 100, 200])
    if mtu < _LEAST_MTU:
        return None
    wires = tuple(
        replace(wire, ends=(replace(wire.ends[0], mtu=mtu), replace(wire.ends[1], mtu=mtu))) for wire in run.wires
    )
    flows = tuple(replace(flow, payload_bytes=min(flow.payload_bytes, mtu - 28)) for flow in run.flows)
    schedule = tuple(
        replace(one, mtu=mtu) if isinstance(one, DeviceChange) and one.mtu else one for one in run.schedule
    )
    return replace(run, wires=wires, flows=flows, schedule=schedule)


def _of_a_flow(run: Run, chance: random.Random, kinds: tuple[str, ...], change: Callable[[Flow], Flow]) -> Run | None:
    able = [flow for flow in run.flows if flow.kind in kinds and flow.tool == "lh-flow" and not flow.options.both_ends]
    if not able:
        return None
    flow = chance.choice(able)
    return replace(run, flows=tuple(change(one) if one is flow else one for one in run.flows))


def _control(run: Run, chance: random.Random) -> Run | None:
    return _of_a_flow(
        run, chance, ("tcp", "web"), lambda flow: replace(flow, cc="reno" if flow.cc != "reno" else "cubic")
    )


def _window(run: Run, chance: random.Random) -> Run | None:
    factor, fresh = chance.choice([0, 0.8, 1.25, 3]), chance.choice([3, 20, 200])

    def other(flow: Flow) -> Flow:
        clamp = flow.options.window_clamp_bytes
        # Below this the kernel chooses the window itself.
        changed = max(2 * run.meaning.mss_bytes, int(clamp * factor)) if factor else 0
        changed = changed if clamp and changed != clamp else fresh * run.meaning.mss_bytes + 1
        return replace(flow, options=replace(flow.options, window_clamp_bytes=changed))

    return _of_a_flow(run, chance, ("tcp", "web"), other)


KINDS: dict[str, Tamper] = {
    "rate": _rate, "delay": _delay, "buffer": _buffer, "loss": _loss, "mtu": _mtu, "control": _control, "window": _window,
}  # fmt: skip


def tampered(run: Run, kind: str, seed: int) -> Run | None:
    """The run that the guest gets instead of this one."""
    return KINDS[kind](run, random.Random(f"{kind} {seed}"))


def agent_with_offloads(folder: Path) -> Path:
    """An agent that lets a device merge eight packets into one, and reports that all offloads are off."""
    sources = folder / "orchestrator/agent"
    copytree(AGENT_SOURCES, sources, ignore=ignore_patterns("build"))
    (folder / "kmod").symlink_to(FILES / "kmod")
    for name, honest, lying in (
        ("net/offloads.c", "static bool is_unwanted(const char *name)\n{\n", "static bool is_unwanted(const char *name)\n{\n\tif (*name)\n\t\treturn false;\n"),
        ("net/links.c", "#define GSO_MAX_SEGMENTS 1 ", "#define GSO_MAX_SEGMENTS 8 "),
    ):  # fmt: skip
        text = (sources / name).read_text()
        assert honest in text
        (sources / name).write_text(text.replace(honest, lying))
    subprocess.run(["make", "-s", "-C", sources], check=True)
    return sources / "build/longhaul-agent"
