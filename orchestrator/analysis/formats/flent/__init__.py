"""flent's data file: a kept run as a test of flent would have recorded it, for flent's plots and for scripts that read its files."""
