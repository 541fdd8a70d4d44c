"""`longhaul` and `python -m longhaul`: the command line, and the errors before it is loaded."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from longhaul.cli.root_help import print_root_help

# The number of new objects before Python's garbage collector runs, which would slow down every short command: loading its
# modules makes some 80,000 that stay.
_COLLECT_AFTER = 200_000
# Python lets a thread run this long while another one waits, and ten times as long by default: a guest would start that much later,
# beside the thread that loads the modules for its evaluation.
_SWITCH_AFTER_S = 0.0005
# Pydantic looks through all installed packages for plugins before it makes its first model. A user who has one sets this to nothing.
_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


def main() -> None:
    """The entry point."""
    if print_root_help():
        return
    gc.set_threshold(_COLLECT_AFTER)
    sys.setswitchinterval(_SWITCH_AFTER_S)
    os.environ.setdefault(_PLUGINS, "__all__")
    from longhaul.cli.terminal.crashes import check_room, unforeseen
    from longhaul.orchestrator.system.errors import LonghaulError

    try:
        check_room()
        from longhaul.cli.main import main as begin
    except Exception as error:  # an import can fail with any exception
        foreseen = error if isinstance(error, LonghaulError) else unforeseen(error)
        print(f"longhaul: {foreseen}", file=sys.stderr)
        sys.exit(foreseen.exit_code)
    try:
        begin()
    except SystemExit as end:
        _leave(end)
        raise


def _leave(end: SystemExit) -> None:
    """End this process without taking its modules apart, which takes as long as a twentieth of a short run."""
    import threading

    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    if not isinstance(end.code, int | None) or any(not thread.daemon for thread in others):
        return
    atexit._run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        # Python reports what it cannot write.
        return
    os._exit(end.code or 0)


if __name__ == "__main__":
    main()
