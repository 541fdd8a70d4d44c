"""`make pictures`: every page as docs/web.md shows it, of real runs: at a desk and on a phone, light and dark.

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

from tests.browser.views import EMPTY, FULL, furnished, hand_in, reaches, settle
from tests.browser.visitor import CHROMIUM, PHONE, Visitor
from tests.support.service import ROOT, Service, served

FOLDER = Path(__file__).resolve().parents[2] / "docs/pictures/web"
DESK: ViewportSize = {"width": 1440, "height": 900}
_PHONE: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
PLACES: dict[str, dict[str, Any]] = {"desk": {"viewport": DESK}, "phone": _PHONE}
SHOWN_EMPTY = ("start-empty",)
SHOWN = (
    *("start", "launch", "runs", "run", "sweep", "compare", "compare-differences", "compare-map"),
    *("papers", "figure", "queue", "hosts", "modules", "service"),
)
# Slow enough that it goes on while it is looked at.
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
# How far a live run is when its picture is taken.
_FAR_ENOUGH_S = 8


def keep(page: Page, name: str) -> None:
    """What is seen now in both themes, with as many colours as it takes."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        # Charts are drawn again in the other colours.
        page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
        few = picture.quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(FOLDER / f"{name}-{theme}.png", optimize=True)


def visit(browser: Browser, service: Service, views: dict[str, str], names: dict[str, str]) -> None:
    """Pictures of views, in every place."""
    for place, told in PLACES.items():
        with Visitor.comes(browser, service, **told) as visitor:
            visitor.enters("admin")
            visitor.opens()
            for name, view in views.items():
                visitor.opens(view.format(**names))
                settle(visitor.page)
                keep(visitor.page, f"{name}-{place}")


def watch(browser: Browser, service: Service) -> None:
    """A run while it goes on."""
    made = service.submit({"spec": LIVE})
    for place, told in PLACES.items():
        with Visitor.comes(browser, service, **told) as visitor:
            visitor.enters("admin")
            visitor.opens(f"runs/{made['runs'][0].rpartition('/')[2]}")
            reaches(visitor.page, _FAR_ENOUGH_S)
            keep(visitor.page, f"watch-{place}")
    with service.client() as client:
        client.post(f"{ROOT}/experiments/{made['id']}/cancel")
    service.wait(made["id"])


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
            visit(browser, service, full, furnished(service, hand_in(service)))
        if not wanted or "watch" in wanted:
            watch(browser, service)
        browser.close()


if __name__ == "__main__":
    main()
