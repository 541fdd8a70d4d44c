"""What goes out to people: the wheel, and what it and its surroundings are made of."""
