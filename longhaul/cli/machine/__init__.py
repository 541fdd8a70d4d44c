"""Verbs of this machine and of physical hosts: what is missing, kernels, modules, deployments."""
