"""Launch in a browser."""
