"""Messages about experiments to users: their content, and their delivery by e-mail and webhooks."""
