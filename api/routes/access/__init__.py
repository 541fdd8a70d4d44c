"""Routes of access: tokens, sessions, the audit log, shares, notifications."""
