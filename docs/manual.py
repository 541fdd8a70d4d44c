"""The manual page, longhaul(1), from the command line's own help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any


def manual_page(
    version: str, commands: Sequence[tuple[str, Any]], exit_codes: Sequence[tuple[int, str]], settings: str
) -> Iterator[str]:
    """The lines of the page, for groff's man macros."""
    yield f'.TH LONGHAUL 1 "" "Longhaul {version}" "User Commands"'
    yield ".SH NAME"
    yield "longhaul \\- a congestion-control laboratory: real Linux TCP over long fast paths, in virtual time"
    yield ".SH SYNOPSIS"
    yield ".B longhaul"
    yield ".I COMMAND"
    yield "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]"
    yield ".SH DESCRIPTION"
    yield "Runs experiments, which describe a path and flows, on real Linux TCP with real congestion-control modules, in a guest kernel with a clock of its own,"
    yield "in Mininet or on physical hosts. It needs neither root nor KVM."
    yield ".B longhaul doctor"
    yield "lists what a machine lacks."
    yield ".SH COMMANDS"
    for name, command in commands:
        context = command.context_class(command, info_name=name)
        yield ".SS"
        yield f"{_plain(name)} {_plain(' '.join(command.collect_usage_pieces(context)))}"
        yield _plain((command.help or "").strip())
        for one in command.params:
            if (record := one.get_help_record(context)) is not None:
                yield ".TP"
                yield f"\\fB{_plain(record[0])}\\fR"
                yield _plain(record[1])
    yield ".SH EXIT STATUS"
    for code, meaning in exit_codes:
        yield ".TP"
        yield f".B {code}"
        yield _plain(meaning)
    yield ".SH ENVIRONMENT"
    yield ".nf"
    yield from (_plain(line) for line in settings.splitlines())
    yield ".fi"
    yield ".SH EXAMPLES"
    for words, meaning in (
        ("longhaul run quick", "the smallest shipped experiment"),
        ("longhaul plan FILE.yaml", "every number that a file resolves to"),
        ("longhaul new-module mine", "a template of a congestion control, and its test"),
    ):
        yield ".TP"
        yield f".B {_plain(words)}"
        yield _plain(meaning)


def _plain(text: str) -> str:
    """Text escaped for groff."""
    escaped = (
        re.sub(r"\s+\Z", "", text).replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    )
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in escaped.splitlines())
