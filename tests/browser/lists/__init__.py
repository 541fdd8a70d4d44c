"""The lists of runs and experiments."""
