"""Open pages in headless Chromium and return the results."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import NamedTuple

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable():
    """Return the path of the installed browser; None if there is no browser."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Opened(NamedTuple):
    """A document after its scripts ran, the console errors, and a screenshot."""

    dom: str
    complaints: list[str]
    png: bytes


def open_page(page, directory, *, size=(1200, 1600), dark=False) -> Opened:
    """Open a page, given as text; it can access no other file."""
    file, picture = directory / "page.html", directory / "page.png"
    file.write_text(page, "utf-8")
    command = [
        executable(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        f"--user-data-dir={directory / 'profile'}",
        f"--window-size={size[0]},{size[1]}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--screenshot={picture}",
        "--dump-dom",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, encoding="utf-8")
    return Opened(done.stdout, re.findall(r"CONSOLE[^\n]*", done.stderr), picture.read_bytes())
