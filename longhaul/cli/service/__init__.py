"""Verbs for the service: start it, its workers, tokens and baselines."""
