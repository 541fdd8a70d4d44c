"""What a person writes: the experiment's text, its fields, its rules."""
