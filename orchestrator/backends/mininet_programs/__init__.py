"""Programs for the Python of this machine, which has Mininet: the net of a run, its prompt, and what starts scripts of users."""
