"""`make pictures`: the screenshots in docs/web.md, of real runs: on a desktop and a phone, light and dark.

docs/pictures/web/VIEW-desk-light.png  VIEW-desk-dark.png  VIEW-phone-light.png  VIEW-phone-dark.png
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.browser.views import EMPTY, FULL, reaches, settle, submit_all, wait_for_all
from tests.browser.visitor import CHROMIUM, PHONE, Visitor
from tests.support.service import Service, served

FOLDER = Path(__file__).resolve().parents[2] / "docs/pictures/web"
DESK: ViewportSize = {"width": 1440, "height": 900}
_PHONE: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
PLACES: dict[str, dict[str, Any]] = {"desk": {"viewport": DESK}, "phone": _PHONE}
SHOWN_EMPTY = ("start-empty",)
SHOWN = (
    *("start", "launch", "runs", "run", "sweep", "explore", "compare", "compare-differences", "compare-map"),
    *("papers", "figure", "queue", "hosts", "modules", "service"),
)
# Slow enough to be running while it is watched.
LIVE: dict[str, Any] = {
    "experiment": "three-at-a-gigabit",
    "about": "CUBIC, H-TCP and BBR, one after the other.",
    "path": {"bandwidth": "1 Gbit/s", "rtt": "40 ms"},
    "flows": [
        {"name": "cubic", "cc": "cubic"},
        {"name": "htcp", "cc": "htcp", "start": "2 s"},
        {"name": "bbr", "cc": "bbr", "start": "4 s"},
    ],
    "duration": "300 s",
}
_COLOURS = 128
# The progress of a live run when its screenshot is taken.
_FAR_ENOUGH_S = 8


def keep(page: Page, name: str) -> None:
    """Save a screenshot in both themes, with few colours."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        # Charts are drawn again in the colours of the theme.
        page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
        few = picture.quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(FOLDER / f"{name}-{theme}.png", optimize=True)


def visit(browser: Browser, service: Service, views: dict[str, str], names: dict[str, str]) -> None:
    """Screenshots of views, on every device."""
    for place, options in PLACES.items():
        with Visitor.comes(browser, service, **options) as visitor:
            visitor.enters("admin", "")
            for name, view in views.items():
                visitor.opens(view.format(**names))
                settle(visitor.page)
                keep(visitor.page, f"{name}-{place}")


def watch(browser: Browser, service: Service) -> None:
    """Screenshots of a running run."""
    made = service.submit({"spec": LIVE})
    for place, options in PLACES.items():
        with Visitor.comes(browser, service, **options) as visitor:
            visitor.enters("admin", f"runs/{made['runs'][0].rpartition('/')[2]}")
            reaches(visitor.page, _FAR_ENOUGH_S)
            keep(visitor.page, f"watch-{place}")
    service.cancel(made["id"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("views", nargs="*", help="only these")
    wanted = parser.parse_args().views
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="longhaul-pictures-") as home,
        served(Path(home) / "home") as service,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        visit(browser, service, {name: EMPTY[name] for name in SHOWN_EMPTY if not wanted or name in wanted}, {})
        full = {name: FULL[name] for name in SHOWN if not wanted or name in wanted}
        if full:
            visit(browser, service, full, wait_for_all(service, submit_all(service)))
        if not wanted or "watch" in wanted:
            watch(browser, service)
        browser.close()


if __name__ == "__main__":
    main()
