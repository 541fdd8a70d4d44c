"""User-supplied modules of an experiment: their entries, and their upload."""
