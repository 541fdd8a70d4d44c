"""Searches for the best parameters, and for conditions that break a claim."""
