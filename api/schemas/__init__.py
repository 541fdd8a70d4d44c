"""What goes over the wire, as types."""
