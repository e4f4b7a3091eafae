"""Facts are values: no line decides by the text of a reason or a remedy."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import deltalog.errors
import parquet_core.errors
import prune_assets.errors
from parquet_core.errors import PruneError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = ("parquet_core", "deltalog", "prune_assets")
# Names of texts that this project makes.
TEXTS = frozenset({"reason", "reasons", "why", "remedy", "limits", "unsupported"})
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted(TEXTS))})\b(?!:)|^ *except .* as ", re.MULTILINE)
METHODS = frozenset(
    {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix", "replace"}
    | {"find", "index", "count"}
)
SEARCHES = frozenset({"search", "match", "fullmatch", "findall", "sub"})
# Errors whose messages this project makes.
ERRORS = {"NotUnderstood", "Refusal"} | {
    name
    for module in (parquet_core.errors, deltalog.errors, prune_assets.errors)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, PruneError)
}
# Decisions by a text that are left, per file. Only ever remove entries.
KNOWN = Counter[str]()


def is_text(node: ast.expr) -> bool:
    """Return True for a name or an attribute that has a reason or a remedy."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in TEXTS
        case ast.Subscript(value=value):
            return is_text(value)
    return False


def is_message(node: ast.expr, error: str) -> bool:
    """Return True for `str(error)` and for its first argument."""
    match node:
        case ast.Call(func=ast.Name("str"), args=[ast.Name(name)]):
            return name == error
        case ast.Attribute(ast.Name(name), "problem") | ast.Subscript(ast.Attribute(ast.Name(name), "args")):
            return name == error
    return False


def is_empty(node: ast.expr) -> bool:
    """Return True for `""`; comparing with it only tests whether there is a text."""
    return isinstance(node, ast.Constant) and node.value == ""


def is_member(node: ast.expr) -> bool:
    """Return True for a member of an enum: an attribute in capitals of a class."""
    return isinstance(node, ast.Attribute) and node.attr.isupper() and isinstance(node.value, ast.Name)


def decides_by_message(node: ast.AST, error: str) -> bool:
    """Return True for a string method, a search or a comparison of the message of an error."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in METHODS:
            return is_message(value, error)
        case ast.Call(func=ast.Attribute(attr=method), args=arguments) if method in SEARCHES:
            return any(is_message(argument, error) for argument in arguments)
        case ast.Compare(left=left, comparators=[right]):
            return is_message(left, error) or is_message(right, error)
    return False


def own_messages(handler: ast.ExceptHandler) -> Iterator[int]:
    """Yield the lines of a handler of this project's errors that decide by a message."""
    names = {each.id for each in ast.walk(handler.type) if isinstance(each, ast.Name)} if handler.type else set()
    if handler.name and names & ERRORS:
        nodes = (node for node in ast.walk(handler) if isinstance(node, ast.Call | ast.Compare))
        yield from (node.lineno for node in nodes if decides_by_message(node, handler.name))


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
    nodes = list(ast.walk(ast.parse(source)))
    found = [node.lineno for node in nodes if isinstance(node, ast.Call | ast.Compare) and decides_by_text(node)]
    return found + [line for node in nodes if isinstance(node, ast.ExceptHandler) for line in own_messages(node)]


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
    handled = "try: x\nexcept MalformedFile as error:\n    y = str(error).rpartition(';')\n    z = error.problem == 'z'"
    assert decisions(handled) == [3, 4]
    assert decisions(handled.replace("MalformedFile", "OSError")) == []
    right = "if reason == '': pass\nif leaf.reason: pass\nwhy = f'{reason}; x'\nif Reason.FULL in reasons: pass"
    assert decisions(right) == []
