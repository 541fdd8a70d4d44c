"""From traces to numbers, verdicts, charts and reports."""
