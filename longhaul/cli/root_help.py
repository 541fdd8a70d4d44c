"""`longhaul --help` without the command line: its text is generated, and loading what would format it takes longer than all else.

It prints only the text that the command line would print: for a terminal that is narrower than the text, and in a process that the
command line would refuse, it prints nothing and the command line answers.
"""

from __future__ import annotations

import os
import sys

# The width from which the text is the same.
_COLUMNS = 80
_PROGRAM = "longhaul"
_STANDARD_OUTPUT = 1


def print_root_help() -> bool:
    """Print it; False if the command line must answer."""
    if sys.argv[1:] != ["--help"] or os.path.basename(sys.argv[0]) != _PROGRAM:  # noqa: PTH119 (pathlib takes longer)
        return False
    if "_LONGHAUL_COMPLETE" in os.environ or _columns() < _COLUMNS or _is_limited():
        return False
    from longhaul.cli.help_lines import ROOT_HELP

    try:
        os.write(_STANDARD_OUTPUT, ROOT_HELP.encode())
    except OSError:
        # The command line fails in the same way, and prints the error.
        return False
    return True


def _columns() -> int:
    """The columns of the terminal, as shutil finds them."""
    try:
        columns = int(os.environ.get("COLUMNS", 0))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(_STANDARD_OUTPUT).columns
        except OSError:
            columns = 0
    return columns or _COLUMNS


def _is_limited() -> bool:
    """Whether this process may not use all memory, so that the command line may refuse to start."""
    from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

    return getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY
