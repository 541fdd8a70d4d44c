"""Verbs for this machine and physical hosts: missing packages, kernels, modules, deployments."""
