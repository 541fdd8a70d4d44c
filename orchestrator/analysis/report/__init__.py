"""Results for readers: pages, figures, charts, texts, JUnit."""
