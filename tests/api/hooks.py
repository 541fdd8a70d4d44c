"""Requests that schemathesis does not send, such as the revocation of its own token."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case[Any]) -> bool:
    """Return whether to send the request."""
    if case.method == "DELETE" and case.path.endswith("/tokens/{name}"):
        return (case.path_parameters or {}).get("name") != "first"
    # Any client or proxy may send undocumented headers.
    return "x-schemathesis-unknown-property" not in (case.headers or {})
