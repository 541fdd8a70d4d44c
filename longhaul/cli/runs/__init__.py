"""Verbs for the runs that are kept in a home, and for the home itself."""
