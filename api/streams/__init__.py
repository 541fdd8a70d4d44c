"""Server-sent events: the lab's event log and running runs."""
