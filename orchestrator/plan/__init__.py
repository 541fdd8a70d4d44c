"""What will run: an experiment compiled into runs of whole numbers."""
