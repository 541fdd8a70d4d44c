"""HTTP: bodies, limits, pages, caches, threads."""
