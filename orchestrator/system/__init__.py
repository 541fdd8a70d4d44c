"""This machine and the ground: errors, units, settings, processes, locks, files."""
