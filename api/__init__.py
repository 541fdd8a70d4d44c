"""The service: experiments in, runs and results out, over HTTP. Endpoints only translate; what they mean lives in orchestrator/."""
