"""The documentation; what of it lists things is made here, from the code."""
