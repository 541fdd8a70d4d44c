"""What a guest's kernel reports about itself while it runs on: WARN_ON, KASAN, UBSAN, lockdep, and whatever prints a stack.

A run whose kernel complained has no numbers, however well it ended: the fault may be anywhere, also in what was measured.
The guest's console shows the kernel's messages down to warnings (`loglevel=5`), while flows run to informational ones, so its log is the place to look.
"""

from __future__ import annotations

import re
from pathlib import Path

# Reports open with one of these words; one that has none of them still shows where it came from.
_COMPLAINT = re.compile(
    r"\b(?:WARNING|BUG|KASAN|UBSAN|ODEBUG|Oops)\b.*|\bINFO: .*|unregister_netdevice: waiting .*|Call Trace:"
)
# The agent's own lines quote names and values that others chose.
_AGENT = "longhaul: "


def first_complaint(log: Path) -> str | None:
    """The line that opens the first report of the log, or None where the kernel was content."""
    with log.open(errors="replace") as lines:
        for line in lines:
            if not line.startswith(_AGENT) and (found := _COMPLAINT.search(line)):
                return found.group(0).strip()
    return None
