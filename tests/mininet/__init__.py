"""Real Mininet, in guests and on this host. Real-time runs need the machine for themselves: no other test may run meanwhile."""
