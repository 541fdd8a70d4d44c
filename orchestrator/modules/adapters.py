"""Adapters of sources that were written for an older or newer interface of the kernel: lines in front of a copy of the file, which use kmod/foreign/.

    static void mine_control(struct sock *sk, const struct rate_sample *rs) {...}        LH_ADAPT_CONG_CONTROL_2(mine_control, static)
    .cong_control = mine_control                                                         #define mine_control(...) lh_own_mine_control(...)

A source whose interface has another meaning today is refused instead: it would compile, and compute something else. Its line is an error with
the reason, whichever way the file is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from longhaul.orchestrator.modules.source_text import SourceText
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Hooks that changed: the number of parameters that a source may have, and the part of kmod/foreign/foreign.h for each.
_ADAPTED = {
    ("cong_control", 2): "CONG_CONTROL_2",
    ("cong_control", 4): "CONG_CONTROL_4",
    ("pkts_acked", 3): "PKTS_ACKED_3",
    ("tso_segs", 2): "TSO_SEGS_2",
    ("tso_segs_goal", 1): "TSO_SEGS_GOAL_1",
}
# Hooks of other kernels that the adapters make of another.
_RENAMED_HOOKS = {"tso_segs": "min_tso_segs", "tso_segs_goal": "min_tso_segs"}
# Values that counted jiffies as tcp_time_stamp did.
_FORMER_STAMPS = ("rcv_tsecr", "rcv_tsval", "retrans_stamp")
_TIME_STAMP = re.compile(r"\btcp_time_stamp\b(?!\s*+\()")
_HEADERS = ("compat.h", "foreign/foreign.h")
REFUSED = "longhaul refuses it: "


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a source is not built: its interface has another meaning today."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class Adapters:
    """The adapters of a source: of its files in C with what they include, of which `modules` register controls; `texts` are all without comments."""

    def __init__(self, texts: Mapping[str, str], sources: Sequence[SourceText], modules: Sequence[SourceText]) -> None:
        self._texts = texts
        self._sources = sources
        self._modules = modules

    @cached_property
    def refusals(self) -> dict[str, Refusal]:
        """The sources that are not built, by name."""
        found = {}
        for one in self._modules:
            if refusal := next(self._refused(one), None):
                found[one.name] = refusal
        return found

    @cached_property
    def lines(self) -> dict[str, str]:
        """The lines of each file that needs some, by its name."""
        found: dict[str, list[str]] = {}
        included = {name for one in self._sources for name in one.includes}
        for one in self._sources:
            if one.name not in included:
                found.setdefault(one.name, []).extend(_of_words(one))
        for one in self._modules:
            if refusal := self.refusals.get(one.name):
                found[one.name] = [f'#line {refusal.line} "{refusal.file}"', f"#error {REFUSED}{refusal.reason}"]
                continue
            for operations in one.operations():
                for name, lines in self._of_operations(one, operations.hooks):
                    new = [line for line in lines if line not in found.get(name, []) or line.startswith(("#if", "#e"))]
                    found.setdefault(name, []).extend(new)
        return {name: "\n".join(lines) + "\n" for name, lines in found.items() if lines}

    def _of_operations(self, module: SourceText, hooks: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
        """The lines for the file with the hooks, and for another file that has a function of them."""
        for hook, function in hooks.items():
            if (part := _ADAPTED.get((hook, self._count(module, function)))) is not None:
                macro = f"LH_ADAPT_{part}({self._with_storage(module, function)})"
                yield from self._adapted(module, part, macro, {hook: _RENAMED_HOOKS.get(hook, "")}, [function])
        start, events = hooks.get("cwnd_event_tx_start", ""), hooks.get("cwnd_event", "")
        if self._count(module, start) == 1:
            functions = [start, events] if self._count(module, events) == 2 else [start]
            macro = "LH_ADAPT_TX_START" + ("_AND_EVENTS" if len(functions) == 2 else "")
            given = ", ".join(self._with_storage(module, one) for one in functions)
            renamed = {"cwnd_event_tx_start": "cwnd_event"}
            yield from self._adapted(module, "TX_START", f"{macro}({given})", renamed, functions)

    def _adapted(
        self, module: SourceText, part: str, macro: str, hooks: Mapping[str, str], functions: Sequence[str]
    ) -> Iterator[tuple[str, list[str]]]:
        """The adapter `macro` in the module, the hooks that have another name, and functions of the source under the names that it calls."""
        begin, end = f"#if LH_ADAPTS_{part}", "#endif"
        for hook, rename in hooks.items():
            if rename:
                yield module.name, [begin, f"#define {hook} {rename}", end]
        yield module.name, [macro]
        for function in functions:
            renames = [begin, f"#define {function}(...) lh_own_{function}(__VA_ARGS__)", end]
            yield module.name, renames
            where = self._where(module, function)
            if where is not None and where is not module:
                yield where.name, renames

    def _where(self, module: SourceText, function: str) -> SourceText | None:
        """The file that has a function: the module's own, or another."""
        return module if function in module.functions else self._elsewhere(module, function)

    def _elsewhere(self, module: SourceText, function: str) -> SourceText | None:
        """The other file of its folder, of no other module, that has this function."""
        modules = {one.name for one in self._modules}
        for one in self._sources:
            if one.folder == module.folder and one.name not in modules and function in one.offers:
                return one
        return None

    def _count(self, module: SourceText, function: str) -> int:
        """The number of a function's parameters; 0 if no file has it, or if there are several for several kernels, of which the source chooses."""
        # Other modules call it by its own name, so it has to keep that.
        where = self._where(module, function) if function not in module.exports else None
        counts = {len(one.parameters) for one in where.functions[function]} if where else set()
        return counts.pop() if len(counts) == 1 else 0

    def _with_storage(self, module: SourceText, function: str) -> str:
        return f"{function}, {'static' if function in module.functions else 'extern'}"

    def _refused(self, source: SourceText) -> Iterator[Refusal]:
        for hook, function in _hooks(source):
            where = self._where(source, function)
            definitions = where.functions[function] if where else []
            reasons = {_other_meaning(hook, function, one.parameters) for one in definitions}
            if where and reasons and all(reasons):
                yield self._refusal(where, rf"\b{function}\s*+\([^();]*+\)\s*+\{{", min(reasons))
        stamp = next((word for word in _FORMER_STAMPS if word in source.words), None)
        if stamp and _TIME_STAMP.search(source.text):
            reason = (
                f"it compares {stamp} with tcp_time_stamp, and both counted jiffies until Linux 4.12; since then {stamp} counts milliseconds "
                "of another clock: change it to tcp_time_stamp_ts(tp)"
            )
            yield self._refusal(source, rf"\b{stamp}\b", reason)

    def _refusal(self, source: SourceText, pattern: str, reason: str) -> Refusal:
        for name in (source.name, *sorted(source.includes)):
            if match := re.search(pattern, self._texts[name]):
                return Refusal(name, self._texts[name].count("\n", 0, match.start()) + 1, reason)
        return Refusal(source.name, 1, reason)


def _hooks(source: SourceText) -> Iterator[tuple[str, str]]:
    for operations in source.operations():
        yield from operations.hooks.items()


def _other_meaning(hook: str, function: str, parameters: Sequence[str]) -> str:
    if hook == "cong_avoid" and len(parameters) == 3 and "flight" in parameters[2]:
        return (
            f"{function}() expects the packets in flight as its third argument, as Linux before 3.13 gave them; since then it is the "
            "number of packets that the ACK acknowledges: change the function"
        )
    if hook == "cong_avoid" and len(parameters) > 3:
        return f"{function}() has {len(parameters)} parameters, as cong_avoid() had before 2.6.22; today it has sk, ack and acked: change the function"
    if hook == "cong_control" and len(parameters) not in (2, 4):
        return f"{function}() has {len(parameters)} parameters; cong_control() has 2 before Linux 6.10, and 4 since: change the function"
    return ""


def _of_words(source: SourceText) -> Iterator[str]:
    """Lines for words that had another meaning, and for functions that kmod/foreign/ has and the source too: its own count."""
    for name in sorted(our_macros() & {*source.functions}):
        yield f"#undef {name}"
    if "tcp_time_stamp" not in source.functions and _TIME_STAMP.search(source.text):
        yield from ("#undef tcp_time_stamp", "#define tcp_time_stamp tcp_jiffies32")
    if "GSO_MAX_SIZE" in source.words and "GSO_LEGACY_MAX_SIZE" not in source.words:
        # Since 6.0 it is eight times as large, and the former one has this name.
        yield from ("#undef GSO_MAX_SIZE", "#define GSO_MAX_SIZE 65536u")
    if "tcp_tso_autosize" in source.words and "tcp_tso_autosize" not in source.functions:
        yield "#define tcp_tso_autosize(...) lh_tso_autosize(__VA_ARGS__)"


@lru_cache(maxsize=1)
def our_macros() -> frozenset[str]:
    """The macros with parameters that stand in front of every source."""
    texts = [(KMOD / name).read_text() for name in _HEADERS]
    return frozenset(
        name for text in texts for name in re.findall(r"^#define (\w+)\(", text, re.MULTILINE) if name[:3] != "LH_"
    )
