"""Runs plans: the pipeline, the executors, the queue's dispatcher."""
