"""Server-sent events: the log of the lab, and runs that go on."""
