"""Experiments in this process: compile, run, sweep, compare, reproduce, tune, search, and read kept runs."""
