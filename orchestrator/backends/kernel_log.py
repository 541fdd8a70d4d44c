"""Reports of a guest's kernel about itself while it continues: WARN_ON, KASAN, UBSAN, lockdep, and all reports with a stack.

A run whose kernel complained has no numbers, however well it ended: the fault may be anywhere, also in the measured code.
The guest's console shows the kernel's messages down to warnings (`loglevel=5`), but flows print informational ones, so its log is searched.
"""

from __future__ import annotations

import re
from pathlib import Path

# Reports open with one of these words; a report without one still prints a stack.
_COMPLAINT = re.compile(
    r"\b(?:WARNING|BUG|KASAN|UBSAN|ODEBUG|Oops)\b.*|\bINFO: .*|unregister_netdevice: waiting .*|Call Trace:"
)
# The agent's own lines quote names and values that users chose.
_AGENT = "longhaul: "


def first_complaint(log: Path) -> str | None:
    """The line that opens the first report of the log, or None without a report."""
    with log.open(errors="replace") as lines:
        for line in lines:
            if not line.startswith(_AGENT) and (found := _COMPLAINT.search(line)):
                return found.group(0).strip()
    return None
