"""Who carries a plan out: the pipeline, the executors, the queue's dispatcher."""
