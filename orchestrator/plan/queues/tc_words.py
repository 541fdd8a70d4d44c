"""The queueing disciplines of a plan as commands of tc, for readers; those of the project are described, as tc does not know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhaul.orchestrator.plan.qdiscs import GAIN_STEPS, RED_AVERAGE_PACKET_BYTES, RED_PROBABILITY
from longhaul.orchestrator.plan.run import Option, Qdisc
from longhaul.orchestrator.spec.sections.queue_parameters import CELLS, DIFFSERVS, ISOLATIONS


def tc_command(dev: str, qdisc: Qdisc) -> str:
    """The tc command for this qdisc."""
    options = qdisc.options
    words = [
        f"tc qdisc add dev {dev}",
        "root" if qdisc.parent == "root" else f"parent {qdisc.parent}",
        f"handle {qdisc.handle} {qdisc.kind}",
    ]
    match qdisc.kind:
        case "netem":
            words += _netem_words(options)
        case "tbf":
            words.append(f"rate {options['rate_bps']}bit burst {options['burst_bytes']} limit {options['limit']}")
            if "peak_bps" in options:
                words.append(f"peakrate {options['peak_bps']}bit mtu {options['peak_burst_bytes']}")
        case "red":
            words.append(
                f"limit {options['limit']} min {options['min']} max {options['max']} avpkt {RED_AVERAGE_PACKET_BYTES} probability {RED_PROBABILITY}"
            )
        case "cake":
            words.append(_cake_words(options))
        case "dualpi2":
            words.append(_dualpi2_words(options))
        case "clsact":
            return (
                f"tc qdisc add dev {dev} clsact; tc filter add dev {dev} egress protocol ip u32 match ip dsfield 0x02 0x03 "
                "action pedit munge ip dsfield set 0x01 retain 0x03 pipe action csum ip4h"
            )
        case "lh_dcf":
            return f"{' '.join(words)} (not a tc command: {_dcf_words(options)})"
        case "lh_link":
            return f"{' '.join(words)} (not a tc command: {_link_words(options)})"
        case _:
            words += [
                f"{_TC_WORDS.get(name, name)} {value}{'us' if name.endswith('_us') else ''}"
                for name, value in options.items()
                if name != "ecn"
            ]
    if options.get("ecn"):
        words.append("ecn")
    return " ".join(words)


_ACK_FILTERS = ("no-ack-filter", "ack-filter", "ack-filter-aggressive")
_TC_WORDS = {"target_us": "target", "interval_us": "interval", "tupdate_us": "tupdate"}


def _dualpi2_words(options: Mapping[str, Option]) -> str:
    alpha, beta = options["alpha"], options["beta"]
    assert isinstance(alpha, int) and isinstance(beta, int)
    return (
        f"limit {options['limit']} memlimit {options['memory_bytes']} target {options['target_us']}us tupdate {options['tupdate_us']}us "
        f"alpha {alpha / GAIN_STEPS:.6f} beta {beta / GAIN_STEPS:.6f} "
        f"step_thresh {options['step']}{'pkt' if options['step_in_packets'] else 'us'} coupling_factor {options['coupling']} "
        f"classic_protection {options['classic_percent']}% {'drop_on_overload' if options['drop_overload'] else 'overflow'} "
        f"{'drop_enqueue' if options['drop_early'] else 'drop_dequeue'}"
    )


def _cake_words(options: Mapping[str, Option]) -> str:
    shaper = f"bandwidth {options['shaper_bps']}bit" if options.get("shaper_bps") else "unlimited"
    words = f"{shaper} rtt {options['rtt_us']}us memlimit {options['memory_bytes']}"
    if "isolation" not in options:
        return words
    named = [
        table[number]
        for name, table in (("isolation", ISOLATIONS), ("diffserv", DIFFSERVS), ("ack_filter", _ACK_FILTERS))
        if isinstance(number := options[name], int)
    ]
    overhead = [] if options["overhead"] is None else [f"overhead {options['overhead']}"]
    overhead += [f"mpu {options['mpu']}"] if options["mpu"] else []
    cells = options["cells"]
    assert isinstance(cells, int)
    overhead += [CELLS[cells]] if cells else []
    return " ".join([words, *named, "split-gso" if options["split_gso"] else "no-split-gso", *overhead])


def _dcf_words(options: Mapping[str, Option]) -> str:
    aggregates = ""
    if options.get("ht"):
        receivers = "one receiver" if options["one_receiver"] else "receivers by address"
        loss = options["frame_loss_2p32"]
        assert isinstance(loss, int)
        lost = f", frame loss {loss / 2**32 * 100:g}%" if loss else ""
        aggregates = f"aggregates of up to {options['aggregate']} frames, {receivers}{lost}, "
    return (
        f"a transmitter of the {'802.11n' if aggregates else '802.11'} channel {options['medium']}, {options['rate_bps']}bit, basic {options['basic_rate_bps']}bit, "
        f"{'with' if options['rts'] else 'without'} RTS, {aggregates}limit {options['limit']}, {options['overhead_bytes']} bytes around a packet, "
        f"seed {options['seed']}"
    )


def _link_words(options: object) -> str:
    assert isinstance(options, dict)
    peak = f" at up to {options['peak_bps']}bit" if "peak_bps" in options else ""
    line = f"{options['rate_bps']}bit, burst {options['burst_bytes']}{peak}, limit {options['limit']} {'bytes' if options['in_bytes'] else 'packets'}"
    policer = (
        [f"policed to {options['police_bps']}bit, burst {options['police_burst_bytes']}"]
        if "police_bps" in options
        else []
    )
    parts = [*policer, *_delay_words(options), *([line] if options["rate_bps"] else []), *_loss_words(options)]
    return f"{', '.join(parts)}, seed {options['seed']}"


def _delay_words(options: dict[str, Any]) -> list[str]:
    if not options["delay_ns"] and not options["jitter_ns"]:
        return []
    jitter = f" {options['jitter_ns'] // 1000}us" if options["jitter_ns"] else ""
    return [f"delay {options['delay_ns'] // 1000}us{jitter}"]


def _loss_words(options: dict[str, Any]) -> list[str]:
    if options["gemodel_2p32"]:
        p, r, h, k = (part / 2**32 * 100 for part in options["gemodel_2p32"])
        return [f"loss gemodel {p:g}% {r:g}% {100 - h:g}% {k:g}%"]
    return [f"loss {options['loss_2p32'] / 2**32 * 100:g}%"] if options["loss_2p32"] else []


def _netem_words(options: object) -> list[str]:
    assert isinstance(options, dict)
    words = [f"limit {options['limit']}", *_delay_words(options)]
    if options["keep_order"]:
        words.append("rate 80tbit")
    words += _loss_words(options)
    words += [
        f"{name} {options[f'{name}_2p32'] / 2**32 * 100:g}%"
        for name in ("duplicate", "corrupt", "reorder")
        if options[f"{name}_2p32"]
    ]
    return [*words, f"seed {options['seed']}"]
