"""A sweep and a run explored, on the page."""
