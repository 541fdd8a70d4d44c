"""Every drawing by matplotlib: its style, the figure of a run, heat maps."""
