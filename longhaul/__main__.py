"""`longhaul` and `python -m longhaul`: the command line, and the errors before it is loaded."""

from __future__ import annotations

import sys

from longhaul.cli.root_help import print_root_help


def main() -> None:
    """The entry point."""
    if print_root_help():
        return
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
