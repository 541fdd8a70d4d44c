"""BPF programs with struct_ops of tcp_congestion_ops, compiled as modules: what is written in front of a program and behind it.

    SEC(".struct_ops") struct tcp_congestion_ops mine = {...};       -->  the module registers it
    struct {__uint(type, BPF_MAP_TYPE_HASH); ...} m SEC(".maps");    -->  a row in the module's table of maps
    const volatile __u32 step = 7;                                   -->  a parameter of the module
    extern unsigned long CONFIG_HZ __kconfig;                        -->  the number of the guest's kernel
    static __u64 div64_u64(__u64 a, __u64 b) {...}                   -->  it wins over a macro of the kernel's headers

The headers in kmod/foreign/bpf/ take the place of vmlinux.h and of libbpf's headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from longhaul.orchestrator.modules.source_text import SourceText, read_text

# Headers that kmod/foreign/bpf/program.h takes the place of, wherever they are: the script takes their names out of the sources.
REPLACED = (
    "vmlinux", "bpf_helpers", "bpf_helper_defs", "bpf_tracing", "bpf_core_read", "bpf_endian", "bpf_tcp_helpers", "bpf_tracing_net",
    "bpf_misc", "bpf_experimental", "bpf_compiler", "bpf_kfuncs",
)  # fmt: skip

# Each pattern takes linear time on any text: a source may be untrusted.
_DEFINES = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)[ \t]*\([^(){};]*\)\s*\{")
_ENUM = re.compile(r"\benum\b[^{};()]{0,80}\{([^{}]*)\}")
_ENUMERATOR = re.compile(r"(?:^|,)\s*(\w+)")
_KCONFIG = re.compile(r"\bextern\s++([\w \t]{1,80}?)\s*\b(\w++)\s*(\[\s*\w*\s*\])?\s*__kconfig\b")
_LICENSE = re.compile(r'SEC\s*\(\s*"license"\s*\)\s*=\s*([^;]{1,80});')
_MAP = re.compile(r'\bstruct(?:\s++\w++)?+\s*+\{([^{}]*+)\}\s*+(\w++)\s*+SEC\s*\(\s*"\.maps"\s*\)')
_MAP_FIELD = re.compile(r"\b__(uint|type)\s*\(\s*(\w+)\s*,\s*([^;]{1,200}?)\s*\)\s*;")
_FLAVOUR = re.compile(r"\bstruct\s+((\w+?)___\w+)\b")
_OLD_MAP = re.compile(r'\bstruct\s+bpf_map_def\s+SEC\s*\(\s*"maps"')
_READ_ONLY = re.compile(
    r"^[ \t]*+(?:static[ \t]++|__hidden[ \t]++)?(?:const[ \t]++volatile|volatile[ \t]++const)[ \t]++(\w[\w \t]{0,60}?)[ \t]++(\w++)[ \t]*+(?:=[ \t]*+([^;\n]{1,60}?)[ \t]*)?;",
    re.MULTILINE,
)
# Words of the compiler, and those whose meaning in a module is program.h's.
_KEPT = frozenset(
    (
        "SEC", "BPF_PROG", "BPF_PROG2", "BPF_STRUCT_OPS", "BPF_STRUCT_OPS_SLEEPABLE", "BPF_TCP_OPS_1", "BPF_TCP_OPS_2", "BPF_TCP_OPS_3",
        "BPF_TCP_OPS_4", "__uint", "__type", "__array", "__ulong", "__ksym", "__kconfig", "__always_inline", "__noinline", "__weak",
        "__hidden", "if", "for", "while", "switch", "return", "sizeof", "typeof", "do", "else", "bpf_for", "bpf_repeat", "bpf_for_each",
    )
)  # fmt: skip
# Types of `const volatile` variables, and the types of parameters that hold the same numbers.
_TYPES = {
    "byte": ("unsigned char", "__u8", "u8", "uint8_t"),
    "short": ("short", "__s16", "s16", "int16_t"),
    "ushort": ("unsigned short", "__u16", "u16", "uint16_t"),
    "int": ("int", "__s32", "s32", "int32_t"),
    "uint": ("unsigned", "unsigned int", "__u32", "u32", "uint32_t"),
    "long": ("long", "long int"),
    "ulong": ("unsigned long", "unsigned long int"),
    "ullong": ("unsigned long long", "__u64", "u64", "uint64_t"),
    "bool": ("bool", "_Bool"),
}
_PARAMETER_OF = {written: parameter for parameter, several in _TYPES.items() for written in several}


def read_only_numbers(text: str) -> Iterator[tuple[str, str, str]]:
    """(type of parameter, name, initial value as written) of each `const volatile` number of a program."""
    for written, name, value in _READ_ONLY.findall(text):
        if kind := _PARAMETER_OF.get(" ".join(written.split())):
            yield kind, name, value


class BpfProgram:
    """A BPF program, from the texts of its source by their names."""

    def __init__(self, files: Mapping[str, str], source: SourceText) -> None:
        self._source = source
        # A copy of a header that is replaced defines nothing for this program.
        kept = {
            name: text for name, text in files.items() if name.rpartition("/")[2].removesuffix(".h") not in REPLACED
        }
        self._text = read_text(kept, source.name).text

    def _parameters_of(self, function: str) -> int:
        """How many parameters a function of the program has; 0 if it defines none of that name."""
        match = re.search(
            rf"\b(?:{function}\s*+\(|BPF_(?:PROG|STRUCT_OPS)\s*+\(\s*+{function}\s*+,)([^(){{}};]*+)\)\s*+\{{",
            self._text,
        )
        return len(match[1].split(",")) if match else 0

    @cached_property
    def front(self) -> list[str]:
        """The lines in front of the program, behind program.h."""
        lines = [f"MODULE_LICENSE({self._license});"] if self._license.startswith('"') else []
        for name in self._numbers:
            lines += [
                f"enum {{ lh_kconfig_{name} =",
                f"#ifdef {name}",
                name,
                f"#elif defined({name}_MODULE)",
                "TRI_MODULE",
                "#else",
                "LINUX_VERSION_CODE" if name == "LINUX_KERNEL_VERSION" else "0",
                "#endif",
                "};",
            ]
        lines += [f"#undef {name}" for name in sorted({*self._names, *self._numbers} - _KEPT)]
        # The script writes it: other names for what the kernel's headers have as functions or types.
        stem = self._source.name.rpartition("/")[2].removesuffix(".c")
        return [*lines, f'#include "lh_own_{stem}.h"']

    @cached_property
    def back(self) -> list[str]:
        """The lines behind it, which make a module of it."""
        controls = self._source.operations()
        lines = ['#include "module.h"', *(f"LH_BPF_KCONFIG({name});" for name in self._numbers)]
        lines += [f"MODULE_LICENSE({self._license});"] if self._license[:1] not in ('"', "") else []
        lines += [f"module_param({name}, {kind}, 0644);" for kind, name, _ in read_only_numbers(self._text)]
        lines += self._maps()
        for one in controls:
            function = one.hooks.get("cong_control", "")
            count = self._parameters_of(function) if function else 0
            adapter = f"LH_BPF_CONG_CONTROL_{count}({one.variable}, {function})" if count in (2, 4) else ""
            lines.append(adapter or f"LH_BPF_AS_IT_IS({one.variable})")
        names = [one.variable for one in controls]
        return [
            *lines,
            "int init_module(void) { int err = lh_bpf_maps_make(), none = -EINVAL, one;",
            "if (err) return err;",
            *(f"lh_bpf_adapt_{name}(); one = lh_bpf_register(&{name}); if (none) none = one;" for name in names),
            "if (none) lh_bpf_maps_free();",
            "return none; }",
            "void cleanup_module(void) {",
            *(f"lh_bpf_unregister(&{name});" for name in names),
            "lh_bpf_maps_free(); }",
        ]

    @property
    def refusal(self) -> tuple[str, str]:
        """(a word at its place, why it cannot be built as a module); empty if it can."""
        for flavour, kernels in _FLAVOUR.findall(self._text):
            return flavour, (
                f"struct {flavour} is struct {kernels} of another kernel, which only libbpf can relocate: a native build has the fields of "
                f"its kernel's struct {kernels}"
            )
        for _, name, brackets in _KCONFIG.findall(self._text):
            if brackets:
                return name, f"{name} is a text of the kernel's configuration, and a native build has its numbers alone"
        if _OLD_MAP.search(self._text):
            return "bpf_map_def", "its maps are written as libbpf 0 read them: write them with __uint() and __type()"
        if not self._license:
            return "struct_ops", 'it has no license, which Linux asks for: char _license[] SEC("license") = "GPL";'
        if not self._source.operations():
            return "struct_ops", (
                "it has no struct tcp_congestion_ops with a name, ssthresh, undo_cwnd, and cong_avoid or cong_control, without which Linux "
                "registers none"
            )
        return "", ""

    @cached_property
    def _license(self) -> str:
        match = _LICENSE.search(self._text)
        return match[1].strip() if match else ""

    @cached_property
    def _numbers(self) -> list[str]:
        return list(dict.fromkeys(name for _, name, brackets in _KCONFIG.findall(self._text) if not brackets))

    @cached_property
    def _names(self) -> set[str]:
        """What it defines itself, where the kernel may have a macro of that name."""
        found = {*_DEFINES.findall(self._text), *_FUNCTION.findall(self._text)}
        for inside in _ENUM.findall(self._text):
            found.update(_ENUMERATOR.findall(inside))
        return {name for name in found if not name.isdigit()}

    def _maps(self) -> Iterator[str]:
        rows = []
        for body, variable in _MAP.findall(self._text):
            numbers = {name: value for kind, name, value in _MAP_FIELD.findall(body) if kind == "uint"}
            types = {name: value for kind, name, value in _MAP_FIELD.findall(body) if kind == "type"}
            sizes = {
                name: f"sizeof({types[name]})" if name in types else numbers.get(f"{name}_size", "0")
                for name in ("key", "value")
            }
            kind = numbers.get("type", "BPF_MAP_TYPE_UNSPEC")
            yield f"LH_BPF_MAP_KIND({variable}, {kind});"
            rows.append(
                f"LH_BPF_MAP({variable}, {kind}, {sizes['key']}, {sizes['value']}, {numbers.get('max_entries', '0')}),"
            )
        yield f"const u32 lh_bpf_map_count = {len(rows)};"
        yield f"struct lh_bpf_map lh_bpf_maps[] = {{ {' '.join(rows)} {{}} }};"
