"""Lists, and the titles and tags that they find."""
