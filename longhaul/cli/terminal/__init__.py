"""The terminal's side of the command line: options, tables and charts, progress, files, exit codes."""
