"""Reads the text of a module's source, before anything is built: which congestion controls it registers, and with which hooks.

    static struct tcp_congestion_ops mine = {          Operations("mine", "mine", hooks={"ssthresh": "mine_ssthresh"})
        .ssthresh = mine_ssthresh,
        .name     = "mine",
    };
    tcp_register_congestion_control(&mine);

It knows names that are strings or macros of strings in the same file or in the files that it includes. A name that only the compiler knows
(from a Makefile's -D, of two definitions of a macro, or written when the module is loaded) is read from the object (objects.py).

Texts are untrusted: every pattern reads each character a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from itertools import islice

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Comments become spaces, and strings stay.
_COMMENT_OR_TEXT = re.compile(
    r"""//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?""", re.DOTALL
)
_INCLUDE = re.compile(r'^[ \t]*+#[ \t]*+include[ \t]*+"([\w./-]+)"', re.MULTILINE)
_MACRO = re.compile(r'^[ \t]*+#[ \t]*+define[ \t]++(\w++)[ \t]++"([^"\\\n]*+)"', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*+#(?:[^\n\\]|\\.)*+", re.MULTILINE | re.DOTALL)
_REGISTERS = re.compile(
    r"\b(?:tcp_register_congestion_control|tcp_ca_register)\s*+\(\s*+&?\s*+([A-Za-z_]\w*+)(\s*+\[|\s*+\))?"
)
_OPERATIONS = re.compile(r"\bstruct\s++tcp_congestion_ops\s++(\w++)\s*+(\[[^\]]{0,80}\])?[^;={}]{0,200}=\s*+\{")
_FIELD = re.compile(r"\.\s*+(\w++)\s*+=\s*+([^,{}]*+)")
_FUNCTION = re.compile(r"(?:\([^()]*+\)\s*+)?&?\s*+([A-Za-z_]\w*+)\s*+")
# At the beginning of a line: the words before a function's name, the name, and its parameters.
_DEFINED = re.compile(
    r"^(?!(?:return|else|if|while|for|switch|do|case|goto)\b)(?=[A-Za-z_])([\w \t*]*?[\s*])??(\w++)[ \t]*+\(([^(){};#]*+)\)\s*+(?:__\w++(?:\s++|(?=\{)))*+\{",
    re.MULTILINE,
)
_EXPORTS = re.compile(r"\bEXPORT_SYMBOL(?:_GPL)?\s*+\(\s*+(\w++)")
_TEXT = re.compile(r'"([^"\\\n]*+)"')
_BPF_SECTION = re.compile(r'SEC\s*+\(\s*+"\.?struct_ops')
_BPF_OPERATIONS = re.compile(
    r"""SEC\s*+\(\s*+"\.struct_ops(?:\.link)?"\s*+\)\s*+(?:static\s++)?struct\s++tcp_congestion_ops\s++(\w++)|"""
    r"""\bstruct\s++tcp_congestion_ops\s++(\w++)\s*+SEC\s*+\(\s*+"\.struct_ops(?:\.link)?"\s*+\)"""
)
# Without these the kernel registers none; a module gets the third of them where it has none (kmod/foreign/foreign.h).
_NEEDED_HOOKS = ({"ssthresh"}, {"cong_avoid", "cong_control"}, {"undo_cwnd"})
_LONGEST_INITIALISER = 20_000
_MOST_STRUCTURES = 64
_MOST_INCLUDES = 50
# Of the files that one source includes from its folder.
_MOST_INCLUDED = 2**18
_LONGEST_LINE = 2_000

REGISTER = "tcp_register_congestion_control"


@dataclass(frozen=True, slots=True)
class Operations:
    """A `struct tcp_congestion_ops` of a source: its variable, the name of the control or "" if the text does not say, and its hooks."""

    variable: str
    name: str
    hooks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Function:
    """A definition of a function: its parameters as written, and whether other files can call it."""

    parameters: tuple[str, ...]
    is_static: bool


@dataclass(frozen=True)
class SourceText:
    """A source file without its comments, with the text of the files that it includes from its folder."""

    name: str
    text: str
    includes: frozenset[str]

    @property
    def folder(self) -> str:
        """Its folder; "" for that of the source."""
        return self.name.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """The name of its file without the ending."""
        return self.name.rpartition("/")[2].removesuffix(".c")

    @property
    def module(self) -> str:
        """The name of its module in the kernel, where no Makefile says another."""
        return self.stem.removesuffix(".bpf").replace("-", "_")

    @cached_property
    def is_bpf(self) -> bool:
        """Whether it is a BPF program with struct_ops."""
        return is_bpf_program(self.text)

    @cached_property
    def registers(self) -> bool:
        """Whether it is a module that registers a congestion control."""
        return _REGISTERS.search(self.text) is not None or self.is_bpf

    @cached_property
    def functions(self) -> dict[str, list[Function]]:
        """The definitions of functions in it by name: several where the preprocessor chooses one."""
        found: dict[str, list[Function]] = {}
        for match in _DEFINED.finditer(self.text):
            parameters = tuple(part.strip() for part in match[3].split(","))
            found.setdefault(match[2], []).append(Function(parameters, "static" in (match[1] or "").split()))
        return found

    @cached_property
    def offers(self) -> frozenset[str]:
        """The functions that other files can call."""
        return frozenset(name for name, found in self.functions.items() if not all(one.is_static for one in found))

    @cached_property
    def exports(self) -> frozenset[str]:
        """What other modules can call."""
        return frozenset(_EXPORTS.findall(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its code."""
        return frozenset(re.findall(r"[A-Za-z_]\w*+", self.text))

    def operations(self) -> list[Operations]:
        """The structures that it registers; all of them if it does not say which."""
        if self.is_bpf:
            variables = {match[1] or match[2] for match in _BPF_OPERATIONS.finditer(self.text)}
            return [one for one in self._structures if one.variable in variables and _is_complete(one)]
        registered = {match[1] for match in _REGISTERS.finditer(self.text)}
        return [one for one in self._structures if one.variable in registered] or self._structures

    def is_certain(self) -> bool:
        """Whether the text says the names of all that it registers."""
        if self.is_bpf:
            return bool(self.operations()) and all(one.name for one in self.operations())
        operations = {one.variable: one for one in self._structures}
        named = list(_REGISTERS.finditer(self.text))
        return bool(named) and all(
            match[2] and "[" not in match[2] and (one := operations.get(match[1])) is not None and bool(one.name)
            for match in named
        )

    @cached_property
    def _structures(self) -> list[Operations]:
        macros: dict[str, str] = {}
        for name, value in _MACRO.findall(self.text):
            # Which of two definitions counts is the preprocessor's choice.
            macros[name] = value if macros.get(name, value) == value else ""
        return [*islice(self._found(macros), _MOST_STRUCTURES)]

    def _found(self, macros: Mapping[str, str]) -> Iterator[Operations]:
        for match in _OPERATIONS.finditer(self.text):
            inside = _DIRECTIVE.sub("", _inside_braces(self.text, match.end()))
            fields = _FIELD.findall(inside)
            if match[2] is not None or not fields:
                yield Operations(match[1], "")
                continue
            names = {_text_of(value.strip(), macros) for name, value in fields if name == "name"}
            hooks = {
                name: function[1]
                for name, value in fields
                if name not in ("name", "owner", "flags", "key") and (function := _FUNCTION.fullmatch(value.strip()))
            }
            yield Operations(match[1], names.pop() if len(names) == 1 else "", hooks)


def _is_complete(one: Operations) -> bool:
    return all(hooks & one.hooks.keys() for hooks in _NEEDED_HOOKS)


def is_bpf_program(text: str) -> bool:
    """Whether a source is a BPF program with struct_ops."""
    return _BPF_SECTION.search(text) is not None


def read_text(texts: Mapping[str, str], name: str) -> SourceText:
    """The text of a file with that of what it includes, each once, from the texts of its folder by name, which have no comments."""
    found: list[str] = []
    seen: set[str] = set()
    left = _MOST_INCLUDED

    def read(one: str) -> None:
        nonlocal left
        if one in seen or one not in texts or len(seen) > _MOST_INCLUDES:
            return
        text = texts[one]
        if one != name:
            if len(text) > left:
                return
            left -= len(text)
        seen.add(one)
        folder = one.rpartition("/")[0]
        for included in islice(_INCLUDE.findall(text), _MOST_INCLUDES):
            read(joined(folder, included))
        found.append(text)

    read(name)
    return SourceText(name, "\n".join(found), frozenset(seen - {name}))


def without_comments(text: str) -> str:
    """The same with spaces instead of comments, and on the same lines; lines that no person wrote are empty."""
    text = _COMMENT_OR_TEXT.sub(
        lambda match: " " + "\n" * match[0].count("\n") if match[0].startswith("/") else match[0], text
    )
    return "\n".join(line if len(line) <= _LONGEST_LINE else "" for line in text.split("\n"))


def joined(folder: str, included: str) -> str:
    """The name of a file that one of this folder names."""
    parts: list[str] = []
    for part in (*folder.split("/"), *included.split("/")):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _inside_braces(text: str, start: int) -> str:
    """From behind an opening brace to the closing one."""
    depth = 1
    for match in re.finditer(r'[{}]|"(?:[^"\\\n]|\\.)*+"', text[start : start + _LONGEST_INITIALISER]):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return text[start : start + match.start()]
    return ""


def _text_of(written: str, macros: Mapping[str, str]) -> str:
    match = _TEXT.fullmatch(written)
    return match[1] if match else macros.get(written, "")
