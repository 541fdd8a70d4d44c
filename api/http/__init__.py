"""How the service speaks HTTP: bodies, limits, pages, caches, threads."""
