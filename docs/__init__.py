"""What is written about the project by the project itself: pages from its code, and what it is made of."""
