"""Verbs for kept runs and for their home."""
