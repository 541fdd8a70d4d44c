"""Verbs that run experiments or compare their results."""
