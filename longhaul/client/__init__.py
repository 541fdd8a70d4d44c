"""The client of the REST API: submit, follow, read results."""
