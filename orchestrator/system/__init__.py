"""This machine: errors, units, settings, processes, locks, files."""
