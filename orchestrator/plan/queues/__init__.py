"""Policers, shapers and queues of a path: their numbers, and their places in a run."""
