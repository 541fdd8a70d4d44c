"""How much a run will send, from its plan alone: the windows of TCP round by round, and the own draws of UDP senders and web users."""
