"""Guest kernels, and what is loaded into them."""
