"""Mininet scripts of users: run in a guest, observed, and described as a run."""
