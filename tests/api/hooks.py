"""Requests that schemathesis does not send, such as the revocation of its own token."""

from __future__ import annotations

from typing import Any

import schemathesis

from longhaul.orchestrator.spec.yaml_text import no_text


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case[Any]) -> bool:
    """Return whether to send the request."""
    if case.method == "DELETE" and case.path.endswith("/tokens/{name}"):
        return (case.path_parameters or {}).get("name") != "first"
    # The service refuses control characters in a patch. The reference does not say so, and may not be narrowed.
    sends_kernel = case.method == "POST" and case.path.endswith("/kernels")
    if sends_kernel and isinstance(case.body, dict) and no_text(case.body.get("patches")):
        return False
    # Any client or proxy may send undocumented headers.
    return "x-schemathesis-unknown-property" not in (case.headers or {})
