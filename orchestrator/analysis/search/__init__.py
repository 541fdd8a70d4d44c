"""Looking for parameters that do best, and for conditions that break a claim."""
