"""Why a source does not build for a kernel, in plain words, from the compiler's messages.

tcp_x.c:120:10: error: 'struct tcp_congestion_ops' has no member named 'skb_marked_lost'
    -->  tcp_x.c:120: it sets the hook skb_marked_lost, which Linux 6.12 does not have (it is BBR's, versions 2 and 3: add their tree as a kernel)
"""

from __future__ import annotations

import re
from collections.abc import Callable

from longhaul.orchestrator.modules.adapters import REFUSED
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_LONGEST = 400
_LONGEST_LINE = 1_000
_ERROR = re.compile(
    r"^(?P<file>[\w./+-]{1,200}):(?P<line>\d{1,7}):(?:\d{1,7}:)? (?:fatal )?[Ee]rror: (?P<text>.*)$", re.MULTILINE
)
# Behind an error in one of the kernel's own headers: the macro's use in the source, or in front of it, the line that includes it.
_EXPANDED = re.compile(
    r"^(?P<file>[\w./+-]{1,200}):(?P<line>\d{1,7}):(?:\d{1,7}:)? note: in expansion of macro", re.MULTILINE
)
_NOT_THE_SOURCE = ("linux-headers/", "longhaul-headers/", "/")
# modpost: the module's name stands in brackets since 6.13, and in the sentence before 6.13.
_UNDEFINED = re.compile(
    r"""^ERROR: modpost: [^\n]{0,200}?["'](?P<name>[\w.]+)["'][^\n]{0,200} undefined!""", re.MULTILINE
)
_LICENSE = re.compile(r"^(?:ERROR|WARNING|FATAL): modpost: [^\n]{0,200}?missing MODULE_LICENSE\(\)", re.MULTILINE)
_GPL_ONLY = re.compile(
    r"^(?:ERROR|FATAL): modpost: [^\n]{0,200}?GPL-incompatible module[^\n]{0,200}? uses GPL-only symbol '(?P<name>[\w.]+)'",
    re.MULTILINE,
)
_MODPOST = re.compile(r"^(?:ERROR|FATAL): (?:modpost: )?(?P<text>.*)$", re.MULTILINE)
_NO_SOURCE = re.compile(r"No rule to make target '[^'\n]{0,200}?([^'/\n]{1,80})\.o'")
_MAKE = re.compile(r"^(?:make(?:\[\d+\])?: \*\*\* |.*: \*\*\* )(?P<text>.*)$", re.MULTILINE)
_FOR_GPL = 'the functions of TCP are for modules with MODULE_LICENSE("GPL")'
NO_LICENSE = f"it has no MODULE_LICENSE(); {_FOR_GPL}"
_AREA = "ICSK_CA_PRIV_SIZE"
# Of the kernels, and of those with the patch in kmod/sandbox/wide/.
_USUAL_BYTES, _WIDE_BYTES = 104, 512

# Where interfaces that are in no kernel here come from.
_KNOWN_HOOKS = {
    "skb_marked_lost": "it belongs to BBR's versions 2 and 3, whose authors patch the kernel: add their tree with `longhaul kernel add`",
    "rtt_sample": "Linux had it until 2.6.22; pkts_acked() has the round trip now",
    "min_cwnd": "Linux had it until 3.14",
    "cwnd_event_tx_start": "Linux has it since 7.1",
    "in_ack_event": "Linux has it since 3.19",
    "tso_segs": "it belongs to BBR's version 3, whose authors patch the kernel: add their tree with `longhaul kernel add`",
}
_KNOWN_CALLS = {
    "setup_timer": "Linux had it until 4.14; timer_setup() gives the timer itself to its function",
    "init_timer": "Linux had it until 4.14; timer_setup() gives the timer itself to its function",
    "do_gettimeofday": "Linux had it until 4.20; ktime_get_real_ts64() has the same time",
    "getnstimeofday": "Linux had it until 4.20; ktime_get_real_ts64() has the same time",
    "register_sysctl_table": "Linux had it until 6.5; register_sysctl() takes the path as a text",
    "bictcp_update": "it is a function of another source",
}

_PLAIN: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], str]], ...] = (
    (
        re.compile(r".*'struct tcp_congestion_ops' has no member named '(\w+)'"),
        lambda match, kernel: (
            f"it sets the hook {match[1]}, which Linux {kernel} does not have{_known(_KNOWN_HOOKS, match[1])}"
        ),
    ),
    (
        re.compile(r".*'(?:const )?struct (\w+)'(?: \{.*\})? has no member named '(\w+)'"),
        lambda match, kernel: f"it uses the field {match[2]} of struct {match[1]}, which Linux {kernel} does not have",
    ),
    # Words of kmod/foreign/bpf/ for what a native build of a BPF program does not have.
    (
        re.compile(r"call to '\w+' declared with attribute error: (.+)"),
        lambda match, kernel: match[1],
    ),
    (
        re.compile(r'static assertion failed: "(.+)"'),
        lambda match, kernel: match[1],
    ),
    (
        re.compile(r".*implicit declaration of function '(bpf_\w+)'"),
        lambda match, kernel: (
            f"it calls {match[1]}(), which a native build of a BPF program does not have (docs/bpf.md lists what it has)"
        ),
    ),
    (
        re.compile(r".*implicit declaration of function '(\w+)'"),
        lambda match, kernel: (
            f"it calls {match[1]}(), which Linux {kernel} does not have{_known(_KNOWN_CALLS, match[1])}"
        ),
    ),
    (
        re.compile(r"([\w./+-]+): No such file or directory"),
        lambda match, kernel: f"it includes {match[1]}, which neither its folder nor Linux {kernel} has",
    ),
    (
        re.compile(r"'(\w+)' undeclared"),
        lambda match, kernel: f"it uses {match[1]}, which neither it nor Linux {kernel} declares",
    ),
    (
        re.compile(r"unknown type name '(\w+)'"),
        lambda match, kernel: f"it uses the type {match[1]}, which neither it nor Linux {kernel} has",
    ),
    (
        re.compile(r"field '(\w+)' has incomplete type"),
        lambda match, kernel: f"its field {match[1]} has a type that Linux {kernel} does not have",
    ),
    (
        re.compile(r".*incompatible pointer type"),
        lambda match, kernel: (
            f"a function has other parameters than Linux {kernel} calls it with ({match.string[:160]})"
        ),
    ),
    (
        re.compile(r"(?:too (?:few|many) arguments to function|number of arguments).*'(\w+)'"),
        lambda match, kernel: f"it calls {match[1]}() with other arguments than Linux {kernel} has for it",
    ),
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The first error of a build: its place as file:line or "", its reason, and whether only the private area is too small."""

    place: str
    reason: str
    needs_room: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.place else self.reason


def diagnose(log: str, kernel: str) -> Diagnosis:
    """The first error in the messages of a build for a kernel."""
    log = _plain_quotes(log)
    for match in _ERROR.finditer(log):
        place, text = _place(log, match), match["text"][:_LONGEST_LINE]
        if text.startswith(f"#error {REFUSED}"):
            return Diagnosis(place, text.removeprefix(f"#error {REFUSED}")[:_LONGEST])
        if _AREA in text:
            kept = _WIDE_BYTES if kernel.startswith("wide-") else _USUAL_BYTES
            size = f"its private area is larger than the {kept} bytes that the kernel keeps for a connection (ICSK_CA_PRIV_SIZE)"
            return Diagnosis(place, size, needs_room=True)
        for pattern, words in _PLAIN:
            if found := pattern.match(text):
                return Diagnosis(place, words(found, kernel)[:_LONGEST])
        return Diagnosis(place, f"error: {text}"[:_LONGEST])
    if undefined := _UNDEFINED.search(log):
        name = undefined["name"]
        reason = f"it calls {name}(), which none of its files has, and Linux {kernel} does not offer to modules"
        return Diagnosis("", f"{reason}{_known(_KNOWN_CALLS, name)}")
    if _LICENSE.search(log):
        return Diagnosis("", NO_LICENSE)
    if _GPL_ONLY.search(log):
        return Diagnosis("", f"its license is not the GPL, and {_FOR_GPL}")
    if missing := _NO_SOURCE.search(log):
        return Diagnosis("", f"its Makefile lists {missing[1]}.o, and its folder has no {missing[1]}.c")
    if other := _MODPOST.search(log) or _MAKE.search(log):
        return Diagnosis("", other["text"].strip()[:_LONGEST])
    return Diagnosis("", "the compiler made no object and printed no error")


def _place(log: str, error: re.Match[str]) -> str:
    """The line of the source: where a header of the kernel has the error, that of the macro's use."""
    at = error
    if error["file"].startswith(_NOT_THE_SOURCE):
        following = _ERROR.search(log, error.end())
        end = following.start() if following else len(log)
        uses = [one for one in _EXPANDED.finditer(log, error.end(), end) if not one["file"].startswith(_NOT_THE_SOURCE)]
        at = uses[-1] if uses else error
    return f"{at['file'].rpartition('/')[2]}:{at['line']}"


def _plain_quotes(text: str) -> str:
    return text.replace("\N{LEFT SINGLE QUOTATION MARK}", "'").replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _known(table: dict[str, str], name: str) -> str:
    return f"; {table[name]}" if name in table else ""
