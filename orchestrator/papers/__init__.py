"""Published claims, and the measurements for each."""
