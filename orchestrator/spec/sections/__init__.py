"""The sections of an experiment as a user writes them: the path and its queues, and the parts of flows."""
