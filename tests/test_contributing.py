"""What CONTRIBUTING.md names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PLACES = ("parquet_core", "deltalog", "prune_assets", "tests", "benchmarks", "docs")
FILES = ["/setup.py", *(f"/{path.relative_to(ROOT)}" for place in PLACES for path in (ROOT / place).rglob("*.py"))]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"[\w/]+\.py\b", TEXT))))
def test_a_file_is_where_the_map_and_the_walks_have_it(name):
    assert any(path.endswith(f"/{name}") for path in FILES)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"[a-z_]+(?:/[a-z_]+)*/(?=[`\s),])", TEXT))))
def test_a_folder_is_where_the_map_and_the_walks_have_it(name):
    assert any(f"/{name}" in path for path in FILES) or (ROOT / name).is_dir()
