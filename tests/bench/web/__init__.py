"""The web page in Chromium against the real service: `make bench-web`."""
