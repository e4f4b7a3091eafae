"""A class name has one meaning in the whole tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("parquet_core", "deltalog", "prune_assets")


def homes_of_classes(files):
    """The files that define a class of each name."""
    homes = defaultdict(list)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.name)
    return homes


def several(homes):
    return {name: sorted(paths) for name, paths in homes.items() if len(paths) > 1}


def test_every_class_name_is_defined_once():
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert several(homes_of_classes(files)) == {}, "say which one: a noun of the field before the name"


def test_a_second_definition_is_found(tmp_path):
    (tmp_path / "a.py").write_text("class Page: ...\nclass Leaf: ...\n")
    (tmp_path / "b.py").write_text("def read():\n    class Page: ...\n")
    assert several(homes_of_classes(tmp_path.glob("*.py"))) == {"Page": ["a.py", "b.py"]}
