"""Longhaul: a congestion-control laboratory. See `docs/` for the road an experiment takes through this package."""
