"""Login, sessions and shared links."""
