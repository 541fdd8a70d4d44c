"""Measures of some kinds of traffic: the times of requests, and the totals of flows that belong together."""
