"""`longhaul` and `python -m longhaul`: the command line, and the errors before it is loaded."""

from __future__ import annotations

import sys

from longhaul.cli.terminal.crashes import check_room, unforeseen
from longhaul.orchestrator.system.errors import LonghaulError


def main() -> None:
    """The entry point."""
    try:
        check_room()
        from longhaul.cli.main import main as begin
    except LonghaulError as error:
        _end(error)
    except Exception as error:  # an import can fail with any exception
        _end(unforeseen(error))
    begin()


def _end(error: LonghaulError) -> None:
    print(f"longhaul: {error}", file=sys.stderr)
    sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
