from __future__ import annotations

import re
from importlib.resources import files

import pytest


def themes():
    css = files("prune_assets.report").joinpath("templates/skip_report.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    )
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


THEMES = themes()


def luminance(colour):
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_on_white_is_the_greatest():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["page", "panel"])
@pytest.mark.parametrize("text", ["ink", "quiet"])
def test_text_can_be_read(theme, ground, text):
    assert contrast(THEMES[theme][text], THEMES[theme][ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("mark", ["kept", "matched", *(f"level-{i}" for i in range(5))])
def test_blocks_can_be_told_from_the_page(theme, mark):
    assert contrast(THEMES[theme][mark], THEMES[theme]["page"]) >= 3
