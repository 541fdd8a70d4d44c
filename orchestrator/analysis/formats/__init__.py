"""A kept run in the formats of other tools: their results, as they would have written them."""
