"""Real receivers of messages: a server for webhooks and one for e-mail."""
