"""The orders and the pages of lists."""
