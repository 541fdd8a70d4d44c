"""What schemathesis leaves alone: the token that it asks with."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case[Any]) -> bool:
    """Whether the request is made."""
    if case.method == "DELETE" and case.path.endswith("/tokens/{name}"):
        return (case.path_parameters or {}).get("name") != "first"
    # Every client and every proxy sends headers that nobody told of.
    return "x-schemathesis-unknown-property" not in (case.headers or {})
