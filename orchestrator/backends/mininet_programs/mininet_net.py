"""The network of a plan in real Mininet: a separate program for the system's Python, where Debian installs Mininet.

    python3 mininet_net.py run  DIR MARK      builds the network, lets the agent run the experiment, takes the network down
    python3 mininet_net.py live DIR MARK      the same network, settled, with the mininet> prompt

DIR is the run directory: run.json is read from it, and it contains the agent and all files that the agent writes. MARK identifies the
owner; on a host it is part of the name of every namespace. Mininet makes only nodes, links and addresses: queues, offloads and settings
are the plan's, set and read back by the agent, never Mininet's defaults.
"""

from __future__ import annotations

import ctypes
import ipaddress
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mininet.cli import CLI
from mininet.link import Link
from mininet.log import error, output, setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Switch
from mininet.topo import Topo

_PR_SET_PDEATHSIG = 1
# How often a server that was just started is tried.
_TRIES, _PAUSE_S = 50, 0.1
# Off before the agent takes over a namespace: neighbour discovery would put packets of its own on the links.
_NO_IPV6 = "for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done 2>/dev/null"


class PlanHost(Host):  # type: ignore[misc]
    """A host without IPv6."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 (Mininet's name)
        super().startShell(mnopts)
        self.cmd(_NO_IPV6)


class PlanBridge(Switch):  # type: ignore[misc]
    """A switch in its own namespace; the agent makes its bridge, which does not learn or flood."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802
        super().startShell(mnopts)
        self.cmd(_NO_IPV6)

    def start(self, controllers: object) -> None:
        """The bridge is made when all links exist."""


class PlanTopo(Topo):  # type: ignore[misc]
    """The graph of a run.json."""

    def build(self, run: dict[str, Any]) -> None:
        for number, node in enumerate(run["nodes"], 1):
            if node["bridge"]:
                self.addSwitch(node["name"], cls=PlanBridge, inNamespace=True, dpid=f"{number:x}")
            else:
                self.addHost(node["name"], ip=None)
        for wire in run["wires"]:
            near, far = wire["ends"]
            self.addLink(
                near["node"],
                far["node"],
                intfName1=near["dev"],
                intfName2=far["dev"],
                addr1=near["mac"],
                addr2=far["mac"],
                params1=_address(near),
                params2=_address(far),
            )


class PlanNet(Mininet):  # type: ignore[misc]
    """A network whose `iperf` ends: Mininet 2.3 waits for a line that iperf no longer prints since 2.1, so iperf3 measures here."""

    def iperf(
        self,
        hosts: list[Any] | None = None,
        l4Type: str = "TCP",  # noqa: N803 (Mininet's names)
        udpBw: str = "10M",  # noqa: N803
        fmt: str | None = None,
        seconds: int = 5,
        port: int = 5001,
    ) -> list[str]:
        """The rates of the receiver and of the sender."""
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        output("*** Iperf: testing", l4Type, "bandwidth between", client, "and", server, "\n")
        udp = ["-u", "-b", udpBw] if l4Type == "UDP" else []
        form = ["-f", fmt] if fmt else []
        server.cmd("iperf3 -s -1 -D -p", port)
        for _ in range(_TRIES):
            printed = client.cmd("iperf3 -J -c", server.IP(), "-p", port, "-t", seconds, *udp, *form)
            if "refused" not in printed:
                break
            # A server in the background may not listen yet.
            time.sleep(_PAUSE_S)
        try:
            sums = json.loads(printed)["end"]
            rates = [sums[one]["bits_per_second"] for one in ("sum_received", "sum_sent")]
        except (ValueError, KeyError):
            error("*** iperf3 gave no numbers:", printed.strip(), "\n")
            return []
        result = [f"{rate / 1e6:.4g} Mbits/sec" for rate in rates]
        output("*** Results:", result, "\n")
        return result


def _address(end: dict[str, Any]) -> dict[str, str]:
    return {"ip": end["address"]} if end["address"] else {}


def _build(run: dict[str, Any]) -> PlanNet:
    # Mininet would raise limits of the whole machine; a run's plan contains the settings that it needs.
    Mininet.inited = True
    net = PlanNet(PlanTopo(run), host=PlanHost, link=Link, controller=None, build=False)
    net.build()
    net.start()
    return net


def _agent(folder: Path, word: str, mark: str, net: Mininet) -> int:
    nodes = [f"{node.name}={node.pid}" for node in (*net.hosts, *net.switches)]
    return subprocess.run(
        [str(folder / "agent"), word, str(folder), f"longhaul {mark}", *nodes], check=False
    ).returncode


def _name_namespaces(net: Mininet, mark: str) -> None:
    """Name them by owner, so that the next start can remove those of a killed run."""
    for node in (*net.hosts, *net.switches):
        subprocess.run(["ip", "netns", "attach", f"lh-{mark}-{node.name}", str(node.pid)], check=True)


def _write_failure(folder: Path, run: dict[str, Any], error: Exception) -> None:
    status = {
        "status": "failed",
        "attempting": "building the net with Mininet for",
        "subject": run["experiment"],
        "what": str(error).strip() or type(error).__name__,
        "hint": "see its log",
    }
    partial = folder / "status.json.partial"
    partial.write_text(json.dumps(status))
    partial.rename(folder / "status.json")


def _connect_all_hosts(run: dict[str, Any], net: Mininet) -> None:
    """Let every host reach every other: a run configures only what its flows need, and no address is resolved on the wire."""
    ends = [end for wire in run["wires"] for end in wire["ends"] if end["address"]]
    networks: dict[str, list[dict[str, Any]]] = {}
    for end in ends:
        networks.setdefault(_network(end), []).append(end)
    for name in dict.fromkeys(end["node"] for end in ends):
        own = [end for end in ends if end["node"] == name]
        commands = [
            f"neigh replace {_ip(other)} lladdr {other['mac']} dev {end['dev']} nud permanent"
            for end in own
            for other in networks[_network(end)]
            if other["node"] != name
        ]
        commands += [f"route replace {network} via {hop}" for network, hop in _routes(own, networks).items()]
        with net[name].popen(["ip", "-batch", "-"], stdin=subprocess.PIPE) as ip:
            ip.communicate("\n".join([*commands, ""]).encode())


def _routes(own: list[dict[str, Any]], networks: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """The next hop to each network that a node is not in, by the fewest routers."""
    near = {_network(end) for end in own}
    hops: dict[str, str] = {}
    waiting = [(network, "") for network in sorted(near)]
    for network, hop in waiting:
        for router in networks[network]:
            if router["node"] == own[0]["node"]:
                continue
            for beyond, members in networks.items():
                if beyond not in near and beyond not in hops and any(one["node"] == router["node"] for one in members):
                    hops[beyond] = hop or _ip(router)
                    waiting.append((beyond, hops[beyond]))
    return hops


def _ip(end: dict[str, Any]) -> str:
    return str(end["address"]).partition("/")[0]


def _network(end: dict[str, Any]) -> str:
    return str(ipaddress.ip_interface(end["address"]).network)


def _print_help(run: dict[str, Any]) -> None:
    print("This is the experiment's network with its queues; no flow has started. To start its flows by hand:")
    for flow in run["flows"]:
        port, kind = flow["port"], flow["kind"]
        rate = f" -u -b {flow['rate_bps']}" if kind == "udp" else f" -C {flow['cc']}"
        length = f" -n {flow['bytes']}" if flow.get("bytes") else f" -t {run['duration_us'] // 1_000_000}"
        print(f"  {flow['to']} iperf3 -s -1 -D -p {port}")
        print(f"  {flow['from']} iperf3 -c {flow['address']} -p {port}{rate}{length}")
    print("Every host reaches every other, also without a flow between them; `exit` ends the prompt.", flush=True)


def main(word: str, folder: Path, mark: str) -> int:
    """Build the network, hand it to the agent or to a user, take it down."""
    # No process would read them any more.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    run = json.loads((folder / "run.json").read_text())
    # Commands at the prompt print at the level above Mininet's own messages.
    setLogLevel("output" if word == "live" else "warning")
    try:
        net = _build(run)
        if run["where"] == "host":
            _name_namespaces(net, mark)
    except Exception as error:  # Mininet raises plain exceptions.
        _write_failure(folder, run, error)
        return 1
    code = _agent(folder, "attach" if word == "run" else "settle", mark, net)
    if word == "live" and code == 0:
        _connect_all_hosts(run, net)
        _print_help(run)
        CLI(net)
    # A guest powers off with all its processes.
    if run["where"] == "host":
        net.stop()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
