"""Values of fields: the sizes of a queue, and the value that was probably meant."""
