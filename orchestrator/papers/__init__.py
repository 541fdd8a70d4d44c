"""Published claims, and what was measured for each."""
