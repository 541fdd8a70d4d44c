"""Results as Python objects, the same for runs in this process and runs of a service: documents, tables, charts and frames."""
