"""How to look into a sweep or a run: what its fields change, bands of repeats, pairs of values, states, sequences."""
