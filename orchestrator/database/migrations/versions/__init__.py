"""Revisions of the catalogue, in the order of their numbers."""
