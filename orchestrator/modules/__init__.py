"""User-supplied kernel modules: their sources, the controls in them, and their objects for a kernel."""
