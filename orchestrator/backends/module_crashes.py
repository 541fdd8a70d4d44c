"""Locates the crash of a guest's kernel in a user-supplied module: the functions of the kernel's report, with their source lines.

    RIP: 0033:mine_ssthresh+0x10/0x62 [tcp_mine]  --build_user_modules.py-->  mine_ssthresh  tcp_mine.c:58
    Call Trace: [<6001a2b3>] tcp_enter_recovery+0x3f/0x120          -->  tcp_enter_recovery

It names the module's own function and line in a sentence, and adds the decoded calls to the end of the log. If the report
names no such module, or its source cannot be compiled again, it gives less detail, and never a wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from longhaul.orchestrator.kernels.build_user_modules import Place, find_lines
from longhaul.orchestrator.plan.run import Module, Run
from longhaul.orchestrator.system.errors import GuestDied, KernelComplained, LonghaulError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import printable
from longhaul.orchestrator.system.settings import Settings

DEBUG_KERNEL = "6.12-debug"
PAGE = "docs/debugging-modules.md"
# Begins the lines that a log of the kernel gets from here.
CALL_MARK = "longhaul: "
_THE_MODULES = "the fault is the module's, and its log has the calls"

_PLACE = re.compile(r"(\? )?\b([A-Za-z_][\w.]{0,127})\+0x([0-9a-f]{1,8})/0x[0-9a-f]{1,8}(?: \[(\w{1,64})\])?")
# Lines with the place of the fault. Only a RIP is the instruction itself, any other address is where a call returns to.
_INSTRUCTION = "RIP: "
_HERE = re.compile(r"\bRIP: |\b(?:BUG|KASAN|WARNING|UBSAN)\b")
# BUG_ON() in a source of the module: those of the kernel begin with a folder.
_BUG = re.compile(r"\bBUG: failure at \./([\w.-]{1,64}:[0-9]{1,7})/(\w{1,128})\(\)!")
# Faults whose report has no address.
_SIGNALS = {
    "Kernel mode signal 8": "signal 8 is a division by zero",
    "Kernel mode signal 4": "signal 4 is an instruction that the compiler inserts where it detects, for example, a division by zero",
}
_MOST_BYTES = 256 * 1024
_MOST_CALLS = 12


@dataclass(frozen=True, slots=True)
class Call:
    """One function of a report; `sure` is False if the kernel only found it on the stack."""

    place: Place
    sure: bool = True


def explain(error: GuestDied | KernelComplained, run: Run, log: Path, settings: Settings) -> None:
    """Add to the error of a crash its place in the run's user-supplied modules, and what to do."""
    own = {module.name: module for module in run.modules if module.source}
    if not own or (isinstance(error, GuestDied) and error.cause not in ("panic", "no_status")):
        return
    text = _end_of(log)
    calls = read_calls(text)
    ours = [call.place for call in calls if call.place.module in own]
    more = "" if run.kernel == DEBUG_KERNEL else f"`--set kernel={DEBUG_KERNEL}` checks every access to memory"
    if bug := _BUG.search(text):
        error.what += f", in {bug[2]} of {bug[1]}"
        error.hint = "; ".join(filter(None, [_THE_MODULES, more, PAGE]))
        return
    if not ours:
        signal = next((meaning for name, meaning in _SIGNALS.items() if name in error.what), "")
        more = more and (f"`--set kernel={DEBUG_KERNEL}` reports where it is" if signal else more)
        error.hint = "; ".join(
            filter(None, [signal, f"the run loads {' and '.join(own)}, which may be why", more, PAGE])
        )
        return
    lines = _lines(run.kernel, own, calls, settings)
    first = ours[0]
    function, line = lines.get(first, [(first.function, "")])[0]
    error.what += f", in {function} of {line or first.module}"
    error.hint = "; ".join(filter(None, [_THE_MODULES, more, PAGE]))
    with log.open("a") as file:
        file.write("\n" + "".join(f"{CALL_MARK}{line}\n" for line in _calls_as_text(calls, lines)))


def read_calls(text: str) -> list[Call]:
    """The functions of the last report of a log, the innermost first."""
    calls: list[Call] = []
    trace = False
    for line in text.splitlines():
        trace = trace or "Call Trace:" in line
        here = _HERE.search(line)
        for doubt, function, offset, module in _PLACE.findall(line) if here or (trace and "[<" in line) else ():
            # A return address is behind its call, so never at the beginning of a function.
            address = int(offset, 16) - (0 if _INSTRUCTION in line else 1)
            if address >= 0:
                calls.append(Call(Place(module, function, address), bool(here) or not doubt))
    # With a chain of frames, other addresses on the stack are noise.
    certain = any(call.sure and call.place.module for call in calls) and len([call for call in calls if call.sure]) > 1
    kept = [call for call in calls if call.sure or not certain]
    return list({call.place: call for call in reversed(kept)}.values())[::-1]


def _lines(
    kernel: str, own: Mapping[str, Module], calls: Sequence[Call], settings: Settings
) -> dict[Place, list[tuple[str, str]]]:
    found: dict[Place, list[tuple[str, str]]] = {}
    for source in dict.fromkeys(module.source for module in own.values()):
        # A renamed module is compiled again under the name of its file.
        places = {
            replace(call.place, module=own[call.place.module].file or call.place.module): call.place
            for call in calls
            if call.place.module in own and own[call.place.module].source == source
        }
        try:
            lines = find_lines(settings, kernel, source, [*places][:_MOST_CALLS]) if places else {}
            found |= {places[place]: line for place, line in lines.items()}
        except LonghaulError:
            # Without source lines, the functions are still listed.
            continue
    return found


def _calls_as_text(calls: Sequence[Call], lines: Mapping[Place, list[tuple[str, str]]]) -> Iterator[str]:
    yield "calls, the innermost first; ? marks addresses that were only found on the stack"
    for call in calls[:_MOST_CALLS]:
        place = call.place
        for function, line in lines.get(place, [(place.function, place.module or "the kernel")]):
            yield f"{' ' if call.sure else '?'} {function:32} {line}"


def _end_of(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _MOST_BYTES))
            return printable(file.read())
    except FileNotFoundError:
        return ""
