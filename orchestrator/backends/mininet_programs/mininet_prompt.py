"""The mininet> prompt of a guest: a separate program for the system's Python, as mininet_net.py, which builds the net.

    python3 mininet_prompt.py live DIR MARK

It is a file of its own, because the hash of mininet_net.py is part of the id of every run on Mininet. Commands that have no meaning in
a guest answer with one sentence, and an error of a command leaves the net and the prompt as they are.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mininet.cli import CLI
from mininet.log import error

# It lies in the same folder of the guest, outside of any package.
mininet_net: Any = import_module("mininet_net")


class GuestPrompt(CLI):  # type: ignore[misc]
    """Mininet's prompt where there is no display and no Open vSwitch."""

    def onecmd(self, line: str) -> bool | None:
        """Run a line; True ends the prompt."""
        try:
            return super().onecmd(line)  # type: ignore[no-any-return]
        except Exception as failure:  # Mininet's commands do not check what was typed.
            error(f"{line.strip()}: {type(failure).__name__}: {failure}\n")
            return None

    def do_link(self, line: str) -> None:
        """Bring link(s) between two nodes up or down: link end1 end2 [up/down]."""
        super().do_link(line)
        # A device that goes down forgets its neighbours and routes, and none are resolved on the wire.
        if line.split()[-1:] == ["up"]:
            mininet_net._connect_all_hosts(RUN, self.mn)

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """Has no meaning in a guest."""
        words = line.split()
        here = f"type `{words[0]} COMMAND` at this prompt" if words else "type a host and a command at this prompt"
        error(f"{term}: a guest has no display for windows; {here}\n")

    def do_gterm(self, line: str) -> None:
        """Has no meaning in a guest."""
        self.do_xterm(line, "gterm")

    def do_x(self, line: str) -> None:
        """Has no meaning in a guest."""
        self.do_xterm(line, "x")

    def do_dpctl(self, line: str) -> None:
        """Has no meaning in a guest."""
        error("dpctl: the switches are Linux bridges, which have no rules of OpenFlow; use tc at a host or a switch\n")


if __name__ == "__main__":
    RUN = json.loads((Path(sys.argv[2]) / "run.json").read_text())
    mininet_net.CLI = GuestPrompt
    sys.exit(mininet_net.main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
