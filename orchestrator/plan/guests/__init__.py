"""In how many guests a run is, and which of its nodes are in each."""
