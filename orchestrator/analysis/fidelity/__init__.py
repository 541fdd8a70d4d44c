"""Whether the numbers of a run can be believed."""
