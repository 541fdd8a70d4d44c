"""Who may do what: tokens, sessions, the log of changes, and links that share a result."""
