"""Longhaul from the outside: the command line, the client of the service, and what a notebook imports."""
