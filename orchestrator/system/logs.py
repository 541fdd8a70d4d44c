"""What a service says while it runs: one JSON document a line, so that whatever a stranger sends stays inside its string."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

# What every record has; anything else was given with `extra`.
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line: time, level, logger, message, what was given with it, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII: no character of it can end it early or move a terminal's cursor."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _ORDINARY}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_as_json() -> None:
    """From now on, what this process says goes to standard error in that form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
