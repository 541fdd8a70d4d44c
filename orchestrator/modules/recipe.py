"""How the objects of a module's source are made: decided from its text, and run by kmod/sandbox/build-user-modules.sh.

adapt FILE COUNT                           COUNT lines follow, for the beginning of a file (adapters.py)
make FOLDER                                its Makefile has rules of its own, as for a generated header: run them first
kbuild FOLDER [CONFIG_NAME=m]... [STEM]... its Makefile or Kbuild lists objects: build each of them; STEM are sources that register a control
plain FOLDER STEM [STEM]...                a source that no Makefile lists: one object, with the files whose functions it calls
bpf FOLDER STEM COUNT                      a BPF program with struct_ops, compiled as a module (bpf.py): COUNT lines follow, which go behind it
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from longhaul.orchestrator.modules.adapters import Adapters, Refusal
from longhaul.orchestrator.modules.bpf import BpfProgram
from longhaul.orchestrator.modules.content import is_makefile
from longhaul.orchestrator.modules.source_text import SourceText, joined, read_text, without_comments

_OBJECTS = re.compile(r"^[ \t]*+obj-(?:m|y|\$[({]\w++[)}])[ \t]*+[+:?]?=", re.MULTILINE)
_CONFIG = re.compile(r"obj-\$[({](CONFIG_\w{1,80})[)}]")
_RULE = re.compile(r"^[A-Za-z_.$%][^=\n#:]*+:(?![:=])", re.MULTILINE)
_OBJECT_NAME = re.compile(r"([\w.-]++)(?<=\.o)(?![\w.-])")
_MOST_MODULES = 64
# What a Makefile does besides starting Kbuild, to install or to load its modules, if no file is written.
_USUAL_COMMANDS = frozenset(
    ["sudo", "insmod", "rmmod", "modprobe", "depmod", "lsmod", "dmesg", "sysctl", "echo", "rm", "dkms", "#"]
)
_WRITES = re.compile(r"[>|;&`]")
_KBUILD_WORD = re.compile(
    r"-C|-[sj]\d*|V=\d|(?:M|SUBDIRS|KDIR|KERNELDIR)=\S+|(?:kernel_)?modules(?:_install)?|clean|[/$`(]\S*|(?:uname|pwd|-r)[`)/]?\S*"
)


class Recipe:
    """The recipe of a source, from the texts of its files by name."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    @cached_property
    def modules(self) -> list[SourceText]:
        """The sources that register a control, without those that another of them includes; the first of many."""
        found = [one for one in self._sources if one.registers]
        included = {name for one in found for name in one.includes}
        return [one for one in found if one.name not in included][:_MOST_MODULES]

    @cached_property
    def lines(self) -> list[str]:
        """The lines for the script."""
        # A Makefile of BPF programs makes objects for the kernel's BPF.
        rules = [folder for folder, text in self._makefiles.items() if _has_rules(text) and not self._is_all_bpf]
        # A folder's flags are those of the folders in it too.
        kbuild = [self._kbuild_line(folder) for folder in sorted(self._kbuild, key=lambda one: (one != ".", one))]
        return [*(f"make {folder}" for folder in rules), *kbuild, *self._plain()]

    @property
    def question(self) -> str:
        """All that the script reads."""
        adapters = "".join(f"adapt {name} {text.count(chr(10))}\n{text}" for name, text in self.adapters.items())
        return adapters + "".join(f"{line}\n" for line in self.lines)

    @property
    def makes_modules(self) -> bool:
        """Whether there is anything to build: a source that registers a control, or a list of objects."""
        return bool(self.modules or self._kbuild)

    @property
    def is_certain(self) -> bool:
        """Whether the text says which objects there will be, and the controls of each."""
        return not self._kbuild and bool(self.modules) and all(one.is_certain() for one in self.modules)

    @cached_property
    def refusals(self) -> dict[str, Refusal]:
        """The sources that are not built, by name."""
        found = dict(self._adapters.refusals)
        for name, program in self._programs.items():
            word, reason = program.refusal
            if reason:
                found[name] = Refusal(name, self._line_of(name, word), reason)
        return found

    @cached_property
    def adapters(self) -> dict[str, str]:
        """The lines that go in front of a file, by its name."""
        fronts = {name: "\n".join(program.front) + "\n" for name, program in self._programs.items() if program.front}
        return {**self._adapters.lines, **fronts}

    @cached_property
    def _adapters(self) -> Adapters:
        sources = [one for one in self._sources if not one.is_bpf]
        return Adapters(self._texts, sources, [one for one in self.modules if not one.is_bpf])

    @cached_property
    def _programs(self) -> dict[str, BpfProgram]:
        """The BPF programs, by the names of their files."""
        return {one.name: BpfProgram(self._texts, one) for one in self.modules if one.is_bpf}

    @property
    def _is_all_bpf(self) -> bool:
        return bool(self.modules) and all(one.is_bpf for one in self.modules)

    def _line_of(self, file: str, word: str) -> int:
        match = re.search(rf"\b{re.escape(word)}\b", self._files[file])
        return self._files[file].count("\n", 0, match.start()) + 1 if match else 1

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {name: without_comments(text) for name, text in self._files.items() if name.endswith((".c", ".h"))}

    @cached_property
    def _sources(self) -> list[SourceText]:
        """Its files in C, each with what it includes."""
        return [read_text(self._texts, name) for name in sorted(self._texts) if name.endswith(".c")]

    @cached_property
    def _makefiles(self) -> dict[str, str]:
        """The texts of the files of make in each folder, of which make reads one."""
        return self._first_named(("GNUmakefile", "makefile", "Makefile"))

    @cached_property
    def _kbuild(self) -> dict[str, str]:
        """The folders with lists of objects, and the text of the list that Kbuild reads, with what it includes."""
        found = {}
        for folder, text in self._first_named(("Kbuild", "Makefile")).items():
            included = "".join(
                f"\n{self._files[name]}"
                for written in re.findall(
                    r"^[ \t]*+-?include[ \t]++(?:\$[({]\w++[)}]/)?([\w./-]{1,200})", text, re.MULTILINE
                )
                if (name := joined("" if folder == "." else folder, written)) in self._files
            )
            if _OBJECTS.search(text + included):
                found[folder] = text + included
        return found

    def _first_named(self, names: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in names:
            for file in sorted(self._files):
                folder, _, last = file.rpartition("/")
                if last == name:
                    found.setdefault(folder or ".", self._files[file])
        return found

    def _kbuild_line(self, folder: str) -> str:
        options = [f"{name}=m" for name in dict.fromkeys(_CONFIG.findall(self._kbuild[folder]))]
        prefix = "" if folder == "." else f"{folder}/"
        # A list of a folder may name objects of the folders in it.
        registering = [
            one.name.removeprefix(prefix).removesuffix(".c") for one in self.modules if one.name.startswith(prefix)
        ]
        return " ".join(["kbuild", folder, *options, *registering])

    def _plain(self) -> Iterator[str]:
        listed = {
            name.removesuffix(".o")
            for file, text in self._files.items()
            if is_makefile(file.rpartition("/")[2])
            for name in _OBJECT_NAME.findall(text)
        }
        for one in self.modules:
            if one.is_bpf and one.name not in self.refusals:
                back = self._programs[one.name].back
                yield "\n".join([f"bpf {one.folder or '.'} {one.stem} {len(back)}", *back])
            elif not one.is_bpf and not (one.stem in listed and self._has_list(one.folder)):
                yield " ".join(["plain", one.folder or ".", one.stem, *self._called(one)])

    def _has_list(self, folder: str) -> bool:
        """Whether this folder or one around it has a list of objects."""
        while folder:
            if folder in self._kbuild:
                return True
            folder = folder.rpartition("/")[0]
        return "." in self._kbuild

    def _called(self, module: SourceText) -> list[str]:
        """The sources of its folder that have functions which it calls, or which these call; no modules, and nothing that one includes."""
        left = self._helpers.get(module.folder, [])
        has, found = {*module.functions}, []
        wanted = module.words - has
        while more := [one for one in left if one.offers & wanted]:
            found += more
            left = [one for one in left if not one.offers & wanted]
            for one in more:
                has |= one.offers
                wanted |= one.words
            wanted -= has
        return [one.stem for one in found]

    @cached_property
    def _helpers(self) -> dict[str, list[SourceText]]:
        """The sources of each folder that may belong to a module: neither a module or a part of one, nor a program."""
        taken = {name for one in self.modules for name in (one.name, *one.includes)}
        found: dict[str, list[SourceText]] = {}
        for one in self._sources:
            if one.name not in taken and "main" not in one.functions:
                found.setdefault(one.folder, []).append(one)
        return found


def _has_rules(text: str) -> bool:
    """Whether make does more by this file than to start Kbuild, which needs no file for that."""
    if not _RULE.search(text):
        return False
    is_rule = False
    for line in text.replace("\\\n", " ").split("\n"):
        is_rule = is_rule or line.startswith("\t")
        if line.startswith("\t") and line.strip() and not _is_usual(line):
            return True
    # Rules without commands, as those of Kbuild's own files.
    return not is_rule and any(
        not match[0].startswith((".PHONY", ".SUFFIXES", "clean")) for match in _RULE.finditer(text)
    )


def _is_usual(command: str) -> bool:
    words = command.strip(" \t@-").split()
    if not words or (words[0] in _USUAL_COMMANDS and not _WRITES.search(command)):
        return True
    return words[0] in ("make", "$(MAKE)", "${MAKE}") and all(
        map(_KBUILD_WORD.fullmatch, command.replace("$(shell ", "$(").split()[1:])
    )
