"""Results for people: pages, figures, charts, texts, JUnit."""
