"""The page of docs/extending.md: it is checked and built like the others, and appears in the header."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.upgrading import in_process
from tests.support.extending import examples, extended_tree
from tests.support.folders import REPOSITORY

WEB = "dashboards/web"
# Check the types of these files only: the whole page takes 15 s.
TYPED = "tsconfig.added.json"


def test_added_page_is_in_the_header(browser: Browser, tmp_path: Path) -> None:
    web = extended_tree(tmp_path / "tree") / WEB
    (web / "node_modules").symlink_to(REPOSITORY / WEB / "node_modules")
    touched = [one.file.removeprefix(f"{WEB}/") for one in examples() if one.file.startswith(WEB)]
    added = [file for file in touched if not (REPOSITORY / WEB / file).exists()]
    typed = {"extends": "./tsconfig.json", "include": [], "files": ["src/vite-env.d.ts", *added]}
    (web / TYPED).write_text(json.dumps(typed))
    for command in (
        ["npm", "run", "--silent", "types"],
        ["node_modules/.bin/tsc", "--project", TYPED],
        ["node_modules/.bin/biome", "ci", "--error-on-warnings", *touched],
        ["node_modules/.bin/vite", "build"],
    ):
        done = subprocess.run(command, cwd=web, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    with in_process(tmp_path / "home", web / "dist") as running:
        page = browser.new_page()
        page.goto(running.url)
        page.get_by_label("Token").fill(running.token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="Measures").click()
        expect(page.get_by_role("heading", name="Measures")).to_be_visible()
        expect(page.get_by_text("goodput / goodput of all flows")).to_be_visible()
        assert page.url.endswith("#/measures")
        page.close()
