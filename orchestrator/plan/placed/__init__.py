"""Parts of a run at their places: real hosts, tables of recorded links, policers."""
