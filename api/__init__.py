"""The service: experiments, runs and results over HTTP. Endpoints only translate; orchestrator/ does the work."""

if __name__ != "longhaul.api":
    raise ImportError(f"import longhaul.api, not {__name__}: under two names one module would be loaded twice")
