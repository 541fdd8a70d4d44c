"""Looking into sweeps and runs: known answers."""
