"""Kernels of the user's, compiled for real: the long form, `make test-own-kernels`."""
