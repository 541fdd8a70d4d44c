"""Parts of a run that stand on one of its devices: tables of recorded links, and policers."""
