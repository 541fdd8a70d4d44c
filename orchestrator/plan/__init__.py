"""Plans: an experiment compiled into runs of whole numbers."""
