"""How long a transfer takes on a path: the runs to make, the steady state that they show, and the time of the whole transfer."""
