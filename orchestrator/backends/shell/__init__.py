"""A shell in a guest of a run, and the neighbours and routes that its programs need."""
