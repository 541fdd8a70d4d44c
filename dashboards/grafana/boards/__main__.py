"""`make dashboards`: write every dashboard."""

from __future__ import annotations

from dashboards.grafana.boards import FOLDER, texts


def main() -> None:
    """Write each dashboard into its file, next to the code."""
    for name, text in texts().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
