"""Starts a user's Mininet script in a guest: a separate program for the system's Python, where Debian installs Mininet.

    python3 mininet_script.py SCRIPT ARGUMENT...

The script runs as it is. Guests have no Open vSwitch, so a switch is a Linux bridge and needs no controller, whichever of Mininet's
switches and local controllers the script names. What has no meaning in a guest is refused by name: a remote controller, a share of a
processor, rules of Open vSwitch, Python 2. `modprobe` finds the congestion controls, which are loaded already, and loads tcp_probe.
"""

from __future__ import annotations

import ast
import os
import re
import resource
import shutil
import sys
import time
import types
from pathlib import Path
from typing import Any, NoReturn

import mininet.net
import mininet.node
from mininet.log import output
from mininet.nodelib import LinuxBridge

_REFUSED = 2
_PAUSE_S = 0.5
# Enough for 200 nodes, and as many as Mininet asks for.
_DESCRIPTORS, _MOST_DESCRIPTORS = 1024, 8192
_SWITCHES = ("UserSwitch", "OVSSwitch", "OVSKernelSwitch", "OVSBridge", "IVSSwitch")
_LOCAL_CONTROLLERS = ("Controller", "OVSController")
# The script's text, and the hosts with their namespaces, for those who read the run.
_TEXT, _NODES = Path("/run/longhaul/script.txt"), Path("/run/longhaul/nodes.lines")
# Of Open vSwitch alone: a bridge ignores them.
_OPTIONS_OF_OVS = ("failMode", "datapath", "protocols", "inband", "opts", "reconnectms", "batch", "dpopts")
_RULES = re.compile(r"\b(ovs-(?:vsctl|ofctl|dpctl|appctl)|dpctl)\b")
_PYTHON_2 = re.compile(
    r"^\s*(?:print\s+[^(=\s]|print$|exec\s+['\"]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+\w+\s*,)", re.MULTILINE
)
# In memory; the programs of the nodes find it before the system's.
_PROGRAMS = Path("/run/longhaul-programs")
_MODPROBE = """#!/bin/sh
# The congestion controls of the kernel and of the project are loaded already, tcp_probe is the project's.
remove= probe= parameters=
[ "${0##*/}" != rmmod ] || remove=yes
for word in "$@"; do
	case $word in
	-r | --remove) remove=yes ;;
	tcp_probe) probe=yes ;;
	tcp_*) [ -z "$remove" ] && grep -qw -- "${word#tcp_}" /proc/sys/net/ipv4/tcp_available_congestion_control && exit 0 ;;
	*=*) parameters="$parameters $word" ;;
	esac
done
[ -z "$probe" ] || exec /usr/bin/python3 "${0%/*}/tcp_probe.py" "$remove" "$parameters"
exec "/sbin/${0##*/}" "$@"
"""
_TCP_PROBE = """
import ctypes, errno, os, sys
_, remove, parameters = sys.argv
libc = ctypes.CDLL(None, use_errno=True)
FINIT_MODULE, DELETE_MODULE = 313, 176
if remove:
    failed = libc.syscall(DELETE_MODULE, b"lh_tcpprobe", os.O_NONBLOCK)
else:
    with open("/run/longhaul/modules/lh_tcpprobe.ko", "rb") as file:
        failed = libc.syscall(FINIT_MODULE, file.fileno(), parameters.encode(), 0)
if failed and ctypes.get_errno() != errno.EEXIST:
    sys.exit("tcp_probe: " + os.strerror(ctypes.get_errno()))
"""
# Mininet's waitListening() asks it whether a server listens.
_TELNET = """#!/bin/bash
[ "$1" != -e ] || shift 2
exec 3<>"/dev/tcp/$1/${2:-23}" && echo "Connected to $1."
"""


def refuse(what: str, why: str, hint: str) -> NoReturn:
    """End the script with one sentence; no `except Exception` of the script catches it."""
    print(f"longhaul: running {sys.argv[0]}: {what}: {why}; {hint}", file=sys.stderr)
    raise SystemExit(_REFUSED)


class Bridge(LinuxBridge):  # type: ignore[misc]
    """A switch that learns and forwards by itself."""

    def __init__(self, name: str, stp: bool = False, prio: int | None = None, **params: Any) -> None:
        params = {key: value for key, value in params.items() if key not in _OPTIONS_OF_OVS}
        super().__init__(name, stp=stp, prio=prio, **params)

    def dpctl(self, *words: str) -> str:
        """Rules of Open vSwitch."""
        refuse(
            f"dpctl {' '.join(words)} of {self.name}",
            "guests have no Open vSwitch",
            "use tc, or a topology without rules",
        )


class NoController(mininet.node.Controller):  # type: ignore[misc]
    """In the place of a local controller, whose work is what a bridge does itself."""

    def __init__(self, name: str, **params: Any) -> None:
        mininet.node.Node.__init__(self, name, inNamespace=False)

    def start(self) -> None:
        """Nothing."""

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803 (Mininet's name)
        """End the shell of the node."""
        mininet.node.Node.stop(self, deleteIntfs)

    def checkListening(self) -> None:  # noqa: N802
        """Nothing listens."""

    @classmethod
    def isAvailable(cls) -> str:  # noqa: N802
        """Always."""
        return "true"


def measure_iperf(
    self: Any,
    hosts: list[Any] | None = None,
    l4Type: str = "TCP",  # noqa: N803 (Mininet's names)
    udpBw: str = "10M",  # noqa: N803
    fmt: str | None = None,
    seconds: int = 5,
    port: int = 5001,
) -> list[str]:
    """Mininet's own measurement with iperf 2, which ends: Mininet 2.3 waits for a line that iperf no longer prints since 2.1."""
    client, server = hosts or (self.hosts[0], self.hosts[-1])
    output("*** Iperf: testing", l4Type, "bandwidth between", client, "and", server, "\n")
    common = ["-p", port, *(["-u"] if l4Type == "UDP" else []), *(["-f", fmt] if fmt else [])]
    printed = f"/tmp/iperf-{server.name}-{port}.txt"  # noqa: S108 (in the guest)
    server.cmd("iperf -s", *common, f"> {printed} 2>&1 &")
    time.sleep(_PAUSE_S)
    sent = client.cmd("iperf -c", server.IP(), "-t", seconds, *common, *(["-b", udpBw] if l4Type == "UDP" else []))
    time.sleep(_PAUSE_S)
    received = server.cmd(f"kill $!; sleep {_PAUSE_S}; kill -9 $!; wait $!; cat {printed}")
    result = [self._parseIperf(received), self._parseIperf(sent)]
    if l4Type == "UDP":
        result.insert(0, udpBw)
    output(f"*** Results: {result}\n")
    return result


def _refusing(name: str, why: str, hint: str) -> type:
    """A class in the place of Mininet's one of that name, of which no object can be made."""

    def init(self: object, *_: object, **__: object) -> None:
        refuse(name, why, hint)

    return type(name, (getattr(mininet.node, name),), {"__init__": init})


def _put_in(name: str, stand_in: object) -> None:
    for module in (mininet.node, mininet.net):
        if hasattr(module, name):
            setattr(module, name, stand_in)


def _put_stand_ins() -> None:
    for name in _SWITCHES:
        _put_in(name, Bridge)
    for name in _LOCAL_CONTROLLERS:
        _put_in(name, NoController)
    _put_in("DefaultController", lambda name, **params: NoController(name, **params))
    remote = "a guest has no network but its own, so it reaches no controller"
    for name in ("RemoteController", "Ryu", "NOX"):
        _put_in(name, _refusing(name, remote, "leave the controller out: switches learn by themselves"))
    no_share = "computing costs no virtual time, so a share of a processor has no meaning"
    _put_in(
        "CPULimitedHost", _refusing("CPULimitedHost", no_share, "use Host, or run the script in real time on a host")
    )
    # It raises limits of the machine for networks of thousands of nodes.
    _put_in("fixLimits", lambda: None)
    mininet.net.Mininet.iperf = measure_iperf
    # Defaults of arguments are the classes that Mininet was loaded with.
    made = mininet.net.Mininet.__init__
    made.__defaults__ = tuple(Bridge if _is_switch(one) else one for one in made.__defaults__)
    made.__defaults__ = tuple(mininet.node.DefaultController if _is_default(one) else one for one in made.__defaults__)
    send_as_mininet = mininet.node.Node.sendCmd

    def send(self: Any, *words: Any, **options: Any) -> Any:
        text = " ".join(map(str, words[0] if len(words) == 1 and isinstance(words[0], list) else words))
        if found := _RULES.search(text):
            refuse(
                f"{found[0]} on {self.name}",
                "guests have no Open vSwitch",
                "switches are Linux bridges: use tc or brctl",
            )
        return send_as_mininet(self, *words, **options)

    mininet.node.Node.sendCmd = send


def _note_nodes() -> None:
    """A line for those who read the run: which network namespace is which host, from when on."""
    start_as_mininet = mininet.node.Node.startShell

    def start(self: Any, *words: Any, **options: Any) -> None:
        start_as_mininet(self, *words, **options)
        if self.inNamespace:
            namespace = Path(f"/proc/{self.pid}/ns/net").stat().st_ino
            with _NODES.open("a") as nodes:
                nodes.write(f"{time.monotonic_ns()} {namespace} {self.name}\n")

    mininet.node.Node.startShell = start


def _run_text(script: str) -> None:
    """Run the script from the text that its run has: its file may be another one by now."""
    module = types.ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    exec(compile(_TEXT.read_text(), script, "exec"), module.__dict__)  # noqa: S102 (it is the user's)


def _is_switch(value: object) -> bool:
    return getattr(value, "__name__", "") in _SWITCHES


def _is_default(value: object) -> bool:
    return getattr(value, "__name__", "") == "DefaultController"


def _check_language(script: str) -> None:
    """Refuse a script of Python 2, which stops at its first line of that language otherwise."""
    text = _TEXT.read_text()
    try:
        ast.parse(text)
    except SyntaxError as error:
        if found := _PYTHON_2.search(text):
            line = text.count("\n", 0, found.start() + len(found[0]) - len(found[0].lstrip())) + 1
            refuse(
                f"line {line}, {found[0].strip()!r}",
                "it is written for Python 2, which Debian no longer has",
                "convert it with 2to3",
            )
        print(f"longhaul: running {script}: line {error.lineno}: {error.msg}", file=sys.stderr)
        raise SystemExit(1) from None


def main() -> None:
    """Run the script, as Python would."""
    sys.argv = sys.argv[1:]
    script = sys.argv[0]
    _check_language(script)
    _PROGRAMS.mkdir(exist_ok=True)
    programs = {"modprobe": _MODPROBE, "rmmod": _MODPROBE, "tcp_probe.py": _TCP_PROBE}
    programs |= {} if shutil.which("telnet") else {"telnet": _TELNET}
    for name, text in programs.items():
        (_PROGRAMS / name).write_text(text)
        (_PROGRAMS / name).chmod(0o755)
    os.environ["PATH"] = f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    # For each node and program, mnexec closes every descriptor that it could have.
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _MOST_DESCRIPTORS))
    _put_stand_ins()
    _note_nodes()
    sys.path[0] = str(Path(script).parent)
    _run_text(script)


if __name__ == "__main__":
    main()
