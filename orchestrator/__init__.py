"""Longhaul: a congestion-control laboratory. See `docs/` for the road an experiment takes through this package."""

if __name__ != "longhaul.orchestrator":
    raise ImportError(f"import longhaul.orchestrator, not {__name__}: under two names one module would be loaded twice")
