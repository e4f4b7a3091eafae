"""The pages that are made from the code have all of it."""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from inspect import isclass, isroutine
from pathlib import Path

import pytest

from parquet_core.layout.spec import LayoutSpec
from prune_assets.checks.registry import GROUPS


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(Path(__file__).parents[1] / "docs" / "reference_pages.py"))


@pytest.fixture(scope="module")
def pages(generator):
    return generator["pages"]()


def test_every_code_has_an_anchor_its_meaning_and_its_remedy(pages):
    anchors = re.findall(r"^\((\S+)\)=\n### `(\S+)`$", pages["codes.md"], flags=re.MULTILINE)
    assert [code for _, code in anchors] == [code for group in GROUPS for code in group.codes]
    assert len({anchor for anchor, _ in anchors}) == len(anchors)
    assert all(
        found.means in pages["codes.md"] and found.remedy in pages["codes.md"]
        for group in GROUPS
        for found in group.codes.values()
    )


@pytest.mark.parametrize("module", ["prune_assets", "prune_assets.dagster", "deltalog", "parquet_core.inspection"])
def test_every_public_name_is_on_a_page(module, pages):
    found = import_module(module)
    api = "".join(pages.values())
    for name in found.__all__:
        value = getattr(found, name)
        assert not (isclass(value) or isroutine(value)) or f":: {module}.{name}\n" in api, name


def test_every_key_of_a_layout_is_told_of(pages):
    told = re.findall(r"^- `(\w+)`: ", pages["layout.md"], flags=re.MULTILINE)
    assert sorted(told) == sorted(LayoutSpec.__dataclass_fields__)


def test_every_component_has_an_example_and_its_keys(pages):
    from prune_assets import components

    text = pages["components.md"]
    examples = re.findall(r"^type: prune_assets\.components\.(\w+)$", text, flags=re.MULTILINE)
    assert examples == components.__all__
    assert text.count("- `layout`: The layout: ") == 3


LISTED = [
    ("`a`: one. `b`, `c`: two\nlines.", "- `a`: one.\n- `b`, `c`: two\n  lines."),
    ("Of `a`: nothing.", "Of `a`: nothing."),
    (">>> `a`: 1", ">>> `a`: 1"),
]


@pytest.mark.parametrize(("paragraph", "listed"), LISTED)
def test_what_a_docstring_says_of_arguments_becomes_a_list(paragraph, listed, generator):
    lines = ["Do it.", "", *paragraph.split("\n")]
    generator["list_arguments"](lines)
    assert "\n".join(lines[2:]) == listed


def test_checked_in_pages_are_those_of_the_code(pages):
    directory = Path(__file__).parents[1] / "docs" / "reference"
    made = {name: text for name, text in pages.items() if name.endswith(".md")}
    assert made == {path.name: path.read_text() for path in directory.glob("*.md")}, "run `make docs`"
