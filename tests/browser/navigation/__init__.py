"""Ways around the page: the palette, and the focus after a change of the page."""
