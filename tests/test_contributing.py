"""Everything that CONTRIBUTING.md names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PLACES = ("parquet_core", "deltalog", "prune_assets", "tests", "benchmarks", "docs")
FILES = ["/setup.py", *(f"/{path.relative_to(ROOT)}" for place in PLACES for path in (ROOT / place).rglob("*.py"))]


def test_each_file_is_where_the_map_and_the_walks_have_it():
    names = sorted(set(re.findall(r"[\w/]+\.py\b", TEXT)))
    assert len(names) > 100
    assert [name for name in names if not any(path.endswith(f"/{name}") for path in FILES)] == []


def test_each_folder_is_where_the_map_and_the_walks_have_it():
    names = sorted(set(re.findall(r"[a-z_]+(?:/[a-z_]+)*/(?=[`\s),])", TEXT)))
    assert len(names) > 30
    missing = [name for name in names if not any(f"/{name}" in path for path in FILES)]
    assert [name for name in missing if not (ROOT / name).is_dir()] == []
