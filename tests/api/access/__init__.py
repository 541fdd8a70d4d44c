"""Access: tokens, scopes, shares."""
