"""Runs on physical hosts: whether their operators allow them, and which node is which host."""
