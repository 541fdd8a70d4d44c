"""One module for each noun of the API."""
