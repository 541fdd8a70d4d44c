"""Experiments that a person would write, as plain data: an everyday path, everyday traffic, and sometimes the tail of a range.

Each number always gives the same experiment. Each is valid and short: tens of thousands of packets at most. Causes of wrongly
refused runs in the past have their own kinds of traffic or path here.
"""

from __future__ import annotations

import random
from typing import Any

Written = dict[str, Any]

# Full frames that may cross the bottleneck in one experiment.
_PACKETS = 12_000
_LEAST_S, _MOST_S = 0.3, 12.0

_RATES_MBPS = (1, 1, 2, 5, 10, 10, 20, 20, 50, 100, 100, 200, 622, 1000, 1000, 2500, 10_000)
_RTTS_MS = (0.5, 1, 5, 10, 20, 20, 40, 40, 60, 100, 100, 150, 300, 600)
_BUFFERS = ("0.05 BDP", "0.1 BDP", "0.5 BDP", "1 BDP", "1 BDP", "1 BDP", "2 BDP", "4 BDP")
_QUEUES = ("droptail",) * 6 + ("codel", "fq_codel", "pie", "red", "cake", "cake", "cake")
_MTUS = (1500,) * 8 + (9000, 9000, 4000, 1280, 576)
_CONTROLS = (
    ("cubic", "reno", "bbr") * 3 + ("htcp", "vegas", "westwood", "illinois", "hybla", "scalable", "highspeed")
    + ("yeah", "veno", "bic", "nv", "cdg", "lp", "agilesd", "compound", "htcp_be", "ccp")
)  # fmt: skip
_SHARES = ("0.001 %", "0.01 %", "0.1 %", "0.5 %", "1 %", "2 %")
_MANY = ("5 %", "10 %", "30 %")


def realistic(number: int, kernel: str = "6.12") -> Written:
    """The experiment with this number."""
    return _Draw(random.Random(f"realistic {number}"), kernel).experiment()


class _Draw:
    def __init__(self, chance: random.Random, kernel: str) -> None:
        self._chance, self._kernel = chance, kernel
        self._path: Written = {}
        self._mbps, self._rtt_ms, self._mtu, self._seconds = 1.0, 1.0, 1500, 1.0

    def experiment(self) -> Written:
        self._draw_path()
        flows = self._chance.choice(
            [
                self._bulk, self._bulk, self._bulk, self._bulk, self._windows, self._windows, self._transfers,
                self._transfers, self._web, self._bursts, self._constant, self._dctcp, self._crowd, self._capacity,
            ]
        )()  # fmt: skip
        written: Written = {"experiment": "realistic", "path": self._path, "flows": flows}
        if self._one_in(5):
            written["schedule"] = self._schedule()
        if self._one_in(4) or self._seconds < 6 * self._rtt_ms / 1000:
            written["start_jitter"] = "0 s"
        if self._one_in(8):
            written["sample"] = self._chance.choice(["1 ms", "10 ms", "100 ms"])
        seed = self._chance.randrange(2**32)
        return written | {"duration": _time(self._seconds), "seed": seed, "kernel": self._kernel}

    def _one_in(self, many: int) -> bool:
        return self._chance.randrange(many) == 0

    def _draw_path(self) -> None:
        chance = self._chance
        self._mbps, self._rtt_ms, self._mtu = chance.choice(_RATES_MBPS), chance.choice(_RTTS_MS), chance.choice(_MTUS)
        packets_s = self._mbps * 1e6 / 8 / (self._mtu + 14)
        self._seconds = min(_MOST_S, max(_LEAST_S, chance.uniform(0.3, 1.0) * _PACKETS / packets_s))
        self._path = {"bandwidth": f"{self._mbps} Mbit/s", "rtt": f"{self._rtt_ms} ms", "mtu": self._mtu}
        if self._one_in(8):
            part = chance.choice([0.1, 0.3, 0.7])
            del self._path["rtt"]
            self._path["one_way"] = {
                "forward": f"{self._rtt_ms * part:g} ms", "reverse": f"{self._rtt_ms * (1 - part):g} ms",
            }  # fmt: skip
        self._path["buffer"] = self._buffer()
        self._path["queue"] = chance.choice(_QUEUES)
        if self._path["queue"] != "droptail" and self._one_in(2):
            self._path["ecn"] = True
        self._impair()

    def _buffer(self) -> str:
        chance, frame = self._chance, self._mtu + 14
        bdp = self._mbps * self._rtt_ms * 1000 / 8 / frame
        if bdp < 2 or self._one_in(3):
            return f"{chance.choice([1, 2, 3, 5, 10, 20, 50, 100, 500])} packets"
        if self._one_in(5):
            return f"{max(frame // 1000 + 1, chance.choice([15, 30, 64, 256, 1000]))} KB"
        return chance.choice(_BUFFERS)

    def _impair(self) -> None:
        chance, path = self._chance, self._path
        share = chance.choice(_SHARES if chance.randrange(6) else _MANY)
        kind = chance.randrange(12)
        if kind in (0, 1):
            path["loss"] = share
        elif kind == 2:
            path["burst"] = {"p": chance.choice(["0.01 %", "0.1 %", "1 %"]), "r": "20 %", "bad": "80 %"}
        elif kind == 3:
            path["corrupt"] = share
        elif kind == 4:
            path["duplicate"] = share
        elif kind == 5:
            path["reorder"] = share
        elif kind == 6:
            path["reverse_loss"] = share
        if self._one_in(6):
            forward_ms = self._rtt_ms / 2 if "rtt" in path else float(path["one_way"]["forward"].split()[0])
            path["jitter"] = f"{int(1000 * forward_ms * chance.choice([0.05, 0.2, 0.9]))} us"
        if self._one_in(10):
            path["reverse_bandwidth"] = f"{self._mbps * chance.choice([0.02, 0.1, 1]):g} Mbit/s"

    def _tcp(self, name: str, **more: Any) -> Written:
        chance = self._chance
        flow: Written = {"name": name, "cc": chance.choice(_CONTROLS), **more}
        if self._one_in(6):
            flow["sack"] = False
        if self._one_in(6):
            flow["delayed_ack"] = False
        if self._one_in(8):
            flow["recovery"] = "dupthresh"
        if self._one_in(6):
            flow["initial_window"] = chance.choice([1, 2, 4, 32, 100])
        if self._one_in(8):
            flow["rtt"] = f"{self._rtt_ms * chance.choice([1, 1.5, 3]):g} ms"
        if self._one_in(20) and flow["cc"] != "dctcp" and "recovery" not in flow:
            flow["tool"] = "iperf3"
        return flow

    def _start(self) -> Written:
        return {"start": _time(self._chance.uniform(0, 0.5) * self._seconds)} if self._one_in(3) else {}

    def _bulk(self) -> list[Written]:
        return [self._tcp(f"f{place}", **self._start()) for place in range(self._chance.choice([1, 1, 2, 3, 5]))]

    def _crowd(self) -> list[Written]:
        crowd = self._tcp("crowd", count=self._chance.choice([8, 12, 25, 60]))
        crowd.pop("tool", None)
        return [crowd, self._tcp("late", **self._start())]

    def _windows(self) -> list[Written]:
        chance, segment = self._chance, self._mtu - 52
        least = max(1, -(-1152 // segment))
        packets = [count for count in (1, 2, 3, 4, 5, 8, 10, 12, 16, 20, 45, 64, 100, 400) if count >= least]
        flows = []
        for place in range(chance.choice([1, 1, 2])):
            window = f"{chance.choice(packets)} packets"
            if self._one_in(3):
                window = f"{segment * chance.uniform(least, 60) / 1000:.3f} KB"
            flow = self._tcp(f"w{place}", window=window, **self._start())
            flow.pop("tool", None)
            if self._one_in(4):
                flow["size"] = f"{chance.choice([1, 10, 100, 1000])} KB"
            flows.append(flow)
        return flows

    def _transfers(self) -> list[Written]:
        chance = self._chance
        size = chance.choice(["1 B", "1 KB", "1448 B", "10 KB", "100 KB", "1 MB"])
        flow = self._tcp("t", size=size, count=chance.choice([1, 10, 50, 200]))
        flow.pop("tool", None)
        if flow["count"] > 1 and self._one_in(3):
            flow["spread"] = _time(self._seconds / 2 / flow["count"])
        return [flow, *([self._tcp("long")] if self._one_in(2) else [])]

    def _web(self) -> list[Written]:
        chance = self._chance
        users: Written = {
            "name": "web",
            "web": {"mean": chance.choice(["5 KB", "20 KB", "100 KB"]), "think": chance.choice(["50 ms", "200 ms", "1 s"])},
            "count": chance.choice([1, 5, 20, 60]),
        }  # fmt: skip
        return [users, *([self._tcp("long")] if self._one_in(2) else [])]

    def _bursts(self) -> list[Written]:
        chance = self._chance
        rate = f"{max(0.01, self._mbps * chance.choice([0.1, 0.5, 1.5])):g} Mbit/s"
        on, off = chance.choice(["10 ms", "100 ms", "1 s"]), chance.choice(["10 ms", "300 ms"])
        return [{"name": "bursts", "on_off": {"rate": rate, "on": on, "off": off}}, self._tcp("tcp")]

    def _constant(self) -> list[Written]:
        rate = f"{max(0.01, self._mbps * self._chance.choice([0.05, 0.5, 0.95, 2])):g} Mbit/s"
        return [{"name": "steady", "udp": rate}, *([self._tcp("tcp")] if self._one_in(2) else [])]

    def _dctcp(self) -> list[Written]:
        self._path["ecn"] = self._chance.random() < 0.8
        self._path["queue"] = self._chance.choice(["step", "red", "codel", "droptail"])
        if self._path["queue"] == "step":
            self._path["mark_at"] = f"{self._chance.choice([1, 5, 20])} packets"
        flows: list[Written] = [{"name": "d", "cc": "dctcp", "count": self._chance.choice([1, 4, 16])}]
        return [*flows, *([{"name": "u", "udp": f"{self._mbps * 1.2:g} Mbit/s"}] if self._one_in(4) else [])]

    def _capacity(self) -> list[Written]:
        """A constant window, as in trials of a path."""
        window = {"cwnd": f"{self._chance.choice([1, 2, 5, 20, 100])} packets"}
        return [{"name": "fixed", "cc": "lhfixed", "params": window, "count": self._chance.choice([1, 1, 3])}]

    def _schedule(self) -> list[Written]:
        chance = self._chance
        if self._one_in(3) and "burst" not in self._path:
            dark, light = self._seconds * 0.3, self._seconds * chance.choice([0.35, 0.6])
            return [
                {"at": _time(dark), "path": {"loss": "100 %"}},
                {"at": _time(light), "path": {"loss": self._path.get("loss", 0.0)}},
            ]
        change: Written = {}
        if self._one_in(2) and not {"one_way", "jitter", "reorder"} & self._path.keys():
            change["rtt"] = f"{self._rtt_ms * chance.choice([0.5, 2]):g} ms"
        if self._one_in(3) and self._mtu > 1280:
            change["mtu"] = 1280
        if not change or self._one_in(2):
            change["bandwidth"] = f"{self._mbps * chance.choice([0.2, 0.5, 0.9]):g} Mbit/s"
        return [{"at": _time(self._seconds * chance.uniform(0.2, 0.8)), "path": change}]


def _time(seconds: float) -> str:
    return f"{max(1, round(seconds * 1e6))} us"
