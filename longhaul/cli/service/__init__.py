"""Verbs of the service: start it, its workers, its tokens, its baselines."""
