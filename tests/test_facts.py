"""Facts are values: no line decides by the text of a reason or a remedy."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("parquet_core", "deltalog", "prune_assets")
# Names of texts that this project makes.
TEXTS = frozenset({"reason", "reasons", "why", "remedy", "limits", "unsupported"})
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted(TEXTS))})\b(?!:)")
METHODS = frozenset(
    {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix", "replace"}
    | {"find", "index", "count"}
)
SEARCHES = frozenset({"search", "match", "fullmatch", "findall", "sub"})
# Decisions by a text that are left, per file. Only ever remove entries.
KNOWN = Counter({
    "parquet_core/evidence/each_row.py": 1,
    "prune_assets/tables/format.py": 1,
    "prune_assets/workload/redact.py": 1,
})  # fmt: skip


def is_text(node: ast.expr) -> bool:
    """Return True for a name or an attribute that has a reason or a remedy."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in TEXTS
        case ast.Subscript(value=value):
            return is_text(value)
    return False


def is_empty(node: ast.expr) -> bool:
    """Return True for `""`, with which a comparison only finds out whether there is a text."""
    return isinstance(node, ast.Constant) and node.value == ""


def is_member(node: ast.expr) -> bool:
    """Return True for a member of an enum: an attribute in capitals of a class."""
    return isinstance(node, ast.Attribute) and node.attr.isupper() and isinstance(node.value, ast.Name)


def decides_by_text(node: ast.AST) -> bool:
    """Return True for a string method, a search or a comparison of a reason or a remedy."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in METHODS:
            return is_text(value)
        case ast.Call(func=ast.Attribute(attr=method), args=[first, *others]) if method in SEARCHES:
            return any(map(is_text, [first, *others]))
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return (is_text(left) or is_text(right)) and not is_member(left)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            return (is_text(left) or is_text(right)) and not any(
                is_empty(side) or is_member(side) for side in (left, right)
            )
    return False


def decisions(source: str) -> list[int]:
    """Return the lines that decide by a text."""
    if not _NAMED.search(source):  # parsing takes most of the time
        return []
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call | ast.Compare))
    return [node.lineno for node in nodes if decides_by_text(node)]


def test_no_line_decides_by_the_text_of_a_reason():
    found = {
        str(path.relative_to(ROOT)): lines
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if (lines := decisions(path.read_text(encoding="utf-8")))
    }
    counts = Counter({path: len(lines) for path, lines in found.items()})
    new = [f"{path}:{line}" for path in counts - KNOWN for line in found[path]]
    assert not new, "give the reason as an enum member or a small class, and decide by that"
    assert not KNOWN - counts, "a decision by text is gone: remove it from KNOWN"


def test_decisions_by_text_are_found():
    wrong = (
        "if leaf.reason.startswith('x'): pass\nif FAILS in each.why: pass\nif reason == X: pass\nP.search(part.remedy)"
    )
    assert decisions(wrong) == [1, 2, 3, 4]
    right = "if reason == '': pass\nif leaf.reason: pass\nwhy = f'{reason}; x'\nif Reason.FULL in reasons: pass"
    assert decisions(right) == []
