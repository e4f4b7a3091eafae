"""Fixture files: `predicate; expectation; why` a line, `#` for a heading."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from parquet_core.pruning.predicate import And, IsTruth, Not, Or, Predicate, Unsupported

FIXTURES = Path(__file__).parent / "fixtures"


class FixtureLine(NamedTuple):
    predicate: str
    expected: str
    why: str


def fixture_lines(name: str) -> list[FixtureLine]:
    lines = (FIXTURES / name).read_text(encoding="utf-8").split("\n")
    return [FixtureLine(*line.rsplit("; ", 2)) for line in lines if line and not line.startswith("# ")]


def braced(predicate: Predicate) -> Predicate:
    """Wrap unsupported conditions in braces, so that fixtures distinguish them from lowered ones."""
    match predicate:
        case Unsupported(sql, reason, remedy):
            return Unsupported(f"{{{sql}}}", reason, remedy)
        case And(children):
            return And(tuple(map(braced, children)))
        case Or(children):
            return Or(tuple(map(braced, children)))
        case Not(child):
            return Not(braced(child))
        case IsTruth(child, truth):
            return IsTruth(braced(child), truth)
        case _:
            return predicate
