"""Guest kernels, and the modules that they load."""
