"""The records of trace.bin, read at once or while they are written."""
