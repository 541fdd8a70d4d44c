"""Parts that several verbs use: options, tables and charts, progress, files, exit codes."""
