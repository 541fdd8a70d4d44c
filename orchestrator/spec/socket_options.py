"""Options of a flow's sockets: the names that an experiment may use for their numbers, and those that fields set already.

sockopts: [{level: tcp, name: TCP_NOTSENT_LOWAT, value: 16384}]  -->  ("6", "25", "16384")
"""

from __future__ import annotations

from collections.abc import Mapping

LEVELS: Mapping[str, int] = {"ip": 0, "socket": 1, "tcp": 6}

# By level; numbers of Linux on every architecture that guests have.
_NAMES: Mapping[int, Mapping[str, int]] = {
    0: {"IP_TOS": 1, "IP_TTL": 2, "IP_MTU_DISCOVER": 10, "IP_LOCAL_PORT_RANGE": 51},
    1: {
        "SO_SNDBUF": 7, "SO_RCVBUF": 8, "SO_KEEPALIVE": 9, "SO_PRIORITY": 12, "SO_RCVLOWAT": 18, "SO_SNDBUFFORCE": 32,
        "SO_RCVBUFFORCE": 33, "SO_BUSY_POLL": 46, "SO_TXREHASH": 74,
    },
    6: {
        "TCP_NODELAY": 1, "TCP_MAXSEG": 2, "TCP_CORK": 3, "TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6, "TCP_SYNCNT": 7,
        "TCP_LINGER2": 8, "TCP_QUICKACK": 12, "TCP_THIN_LINEAR_TIMEOUTS": 16, "TCP_THIN_DUPACK": 17, "TCP_USER_TIMEOUT": 18,
        "TCP_NOTSENT_LOWAT": 25, "TCP_TX_DELAY": 37, "TCP_RTO_MAX_MS": 44, "TCP_RTO_MIN_US": 45, "TCP_DELACK_MAX_US": 46,
    },
}  # fmt: skip
# Those that belong to a field, or to the program that makes the traffic.
_TAKEN: Mapping[tuple[int, int], str] = {
    (6, 10): "window",
    (6, 13): "cc",
    (1, 47): "params of a control that paces",
    (1, 2): "",
    (1, 13): "",
    (1, 36): "",
    (6, 19): "",
}


def option_number(level: str | int, name: str | int) -> tuple[int, int]:
    """The numbers of a level and of an option; ValueError states what is allowed."""
    known = LEVELS.get(level) if isinstance(level, str) else level
    if known is None:
        raise ValueError(f"as the level one of {', '.join(LEVELS)}, or a number")
    number = _NAMES.get(known, {}).get(name) if isinstance(name, str) else name
    if number is None:
        names = ", ".join(_NAMES.get(known, {}))
        raise ValueError(f"as the name {f'one of {names}, or ' if names else ''}a number")
    if (known, number) in _TAKEN:
        field = _TAKEN[known, number]
        raise ValueError(f"another option; {f'the field {field} sets this one' if field else 'lh-flow sets this one'}")
    return known, number


def option_text(level: str | int, name: str | int, value: int) -> tuple[str, str, str]:
    """An option as a plan has it; option_number() allows it."""
    numbers = option_number(level, name)
    return str(numbers[0]), str(numbers[1]), str(value)
