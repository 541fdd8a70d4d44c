"""Routes with which a sweep or a run is explored."""
