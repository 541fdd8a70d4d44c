"""The service: experiments in, runs and results out, over HTTP. Endpoints only translate; what they mean lives in orchestrator/."""

if __name__ != "longhaul.api":
    raise ImportError(f"import longhaul.api, not {__name__}: under two names one module would be loaded twice")
