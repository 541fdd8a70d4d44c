"""Programs of others, as tests run them and read their definitions."""
