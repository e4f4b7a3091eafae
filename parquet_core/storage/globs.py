"""Patterns in paths and URIs, as Hadoop and thus Spark understand them.

Names that begin with a dot match as others do, which is where a shell differs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from parquet_core.errors import UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage.files import DataFile

_MAGIC = re.compile(r"[*?\[{\\]")
_STAR = "*"
_MOST_TOKENS = 1_000_000
_TOKEN = re.compile(r"\\(.)|(\*+)|(\?)|\[([!^]?)((?:\\.|[^\]\\]++)++)\]|([{},])|(.)", re.DOTALL)


def has_magic(path: str) -> bool:
    r"""Tell whether a path is a pattern.

    >>> [has_magic(path) for path in ("t/part-*", "t/{a,b}", r"t/\*", "t/day=1")]
    [True, True, True, False]
    """
    return _MAGIC.search(path) is not None


def pattern_of(part: str) -> re.Pattern[str]:
    r"""Turn a part of a path into what its names must match: `*`, `?`, `[ab]`, `[^a]`, `[!a]`, `{a,b}`, `\*`.

    Source: `GlobPattern` of Hadoop. Raises UnsupportedFeature for a brace that is not closed in the same part.
    Matching takes time in proportion to the name, whatever the pattern.

    >>> bool(pattern_of("part-{0,1}*.[!c]*").fullmatch("part-1-x.parquet"))
    True
    """
    try:
        return re.compile("|".join(map(_regex, _alternatives(part))))
    except re.error as error:
        raise UnsupportedFeature(f"{part}: not a pattern ({error}); put a backslash before a [ that is meant") from None


def _alternatives(part: str) -> list[list[str]]:
    """Return the alternatives that the braces of a part list, each as a row of patterns for one character, or _STAR."""
    current: list[list[str]] = [[]]
    opened: list[tuple[list[list[str]], list[list[str]]]] = []  # what stands before a brace, and its choices so far
    for escaped, stars, mark, negated, members, brace, literal in _TOKEN.findall(part):
        if brace == "{":
            opened.append((current, []))
            current = [[]]
        elif brace and opened:
            before, choices = opened[-1]
            choices += current
            current = [[]]
            if brace == "}":
                opened.pop()
                _refuse_many(part, before, choices)
                current = [[*head, *choice] for head in before for choice in choices]
        else:
            made = (
                f"[{'^' if negated else ''}{_members(members)}]" if members else re.escape(escaped or brace or literal)
            )
            for row in current:
                row.append(_STAR if stars else "[^/]" if mark else made)
    if opened:
        raise UnsupportedFeature(
            f"{part}: a brace that is not closed before the next slash is not understood; give a list instead"
        )
    return current


def _refuse_many(part: str, before: list[list[str]], choices: list[list[str]]) -> None:
    if sum(map(len, before)) * len(choices) + sum(map(len, choices)) * len(before) > _MOST_TOKENS:
        raise UnsupportedFeature(f"{part}: its braces leave too many choices; give a list or a simpler pattern instead")


def _regex(row: Sequence[str]) -> str:
    """Return a regular expression that never goes back: between two stars the first place is as good as any later."""
    pieces = [""]
    for token in row:
        if token == _STAR:
            pieces.append("")
        else:
            pieces[-1] += token
    inner = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return pieces[0] + inner + (f"[^/]*{pieces[-1]}" if len(pieces) > 1 else "")


def _members(text: str) -> str:
    """Escape what means something inside of brackets to Python alone; `a-z` keeps its meaning."""
    return re.sub(r"\\(.)|([\[&~|^])", lambda found: re.escape(found[1] or found[2]), text)


class Listing(Protocol):
    """What patterns are looked for in; a `prefix` is empty or ends in a slash."""

    def find(self, path: str) -> DataFile | None:
        """Look a file up; None when there is none of exactly this name."""

    def children(self, prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
        """List the directories and files whose names match and whose paths are the prefix and the name."""


def matches(store: Listing, pattern: str) -> Iterator[tuple[str, DataFile | None]]:
    """Find what a pattern stands for: the path with the file, or with None where it may be a directory.

    Lists the directories that match so far, level by level, and nothing below others.
    """
    prefix, parts = "", pattern.rstrip("/").split("/")
    if parts[0].endswith(":") and parts[1:2] == [""]:
        # The scheme and the host or bucket, in which nothing is a pattern.
        prefix, parts = "/".join(parts[:3]) + "/", parts[3:]
    return _below(store, prefix, parts)


def _below(store: Listing, prefix: str, parts: list[str]) -> Iterator[tuple[str, DataFile | None]]:
    literal = next((i for i, part in enumerate(parts) if has_magic(part)), len(parts))
    if literal == len(parts):
        path = prefix + "/".join(parts)
        yield path, store.find(path)
        return
    prefix += "".join(f"{part}/" for part in parts[:literal])
    wanted, further = pattern_of(parts[literal]), parts[literal + 1 :]
    directories, files = store.children(prefix, wanted)
    for directory in directories:
        yield from _below(store, f"{directory}/", further) if further else [(directory, None)]
    if not further:
        yield from ((file.path, file) for file in files)
