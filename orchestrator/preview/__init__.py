"""A plan as text and pictures."""
