"""Logs of a service: one JSON document a line, so that text from a caller stays inside its string."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

# The attributes of every record; all others come from `extra`.
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line: time, level, logger, message, the values of `extra`, and a traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII: no character can end it early or move a terminal's cursor."""
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
    """Send this process's logs to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
