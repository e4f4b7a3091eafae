"""Fixture files: `predicate; tables; why` a line, `#` for a heading.

Tables are named without their family, which is the name of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .tables import TABLES

DIRECTORY = Path(__file__).parent / "predicates"


class FixtureLine(NamedTuple):
    predicate: str
    tables: tuple[str, ...]
    why: str


def fixture_lines():
    """Return the lines of all files, in their order."""
    return [line for path in sorted(DIRECTORY.glob("*.txt")) for line in _lines_of(path)]


def _lines_of(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            predicate, tables, why = line.rsplit("; ", 2)
            names = tuple(f"{path.stem}_{name}" for name in tables.split())
            assert set(names) <= TABLES.keys(), f"{path.name}: {line}: a table that is not there"
            yield FixtureLine(predicate, names, why)


def known_to_be_off():
    """Return the cases whose predictions are known to be off, each with the reason."""
    lines = (DIRECTORY.parent / "known_to_be_off.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.rsplit("; ", 1) for line in lines if line and not line.startswith("#"))
