"""Generators of reference pages and of the bill of materials."""
