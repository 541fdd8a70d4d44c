"""Experiments that come into the page as files and leave it as texts."""
