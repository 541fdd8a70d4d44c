"""`longhaul` and `python -m longhaul`: the command line, and the errors before it is loaded."""

from __future__ import annotations

import gc
import sys

from longhaul.cli.root_help import print_root_help

# The number of new objects before Python's garbage collector runs, which would slow down every short command: loading its
# modules makes some 80,000 that stay.
_COLLECT_AFTER = 200_000
# Python lets a thread run this long while another one waits, and ten times as long by default: a guest would start that much later,
# beside the thread that loads the modules for its evaluation.
_SWITCH_AFTER_S = 0.0005


def main() -> None:
    """The entry point."""
    if print_root_help():
        return
    gc.set_threshold(_COLLECT_AFTER)
    sys.setswitchinterval(_SWITCH_AFTER_S)
    from longhaul.cli.terminal.crashes import check_room, unforeseen
    from longhaul.orchestrator.system.errors import LonghaulError

    try:
        check_room()
        from longhaul.cli.main import main as begin
    except Exception as error:  # an import can fail with any exception
        foreseen = error if isinstance(error, LonghaulError) else unforeseen(error)
        print(f"longhaul: {foreseen}", file=sys.stderr)
        sys.exit(foreseen.exit_code)
    begin()


if __name__ == "__main__":
    main()
