"""Glob patterns in paths and URIs, with the rules of Hadoop and Spark.

Unlike in a shell, `*` and `?` also match a leading dot.
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
    r"""Return True if a path is a glob pattern.

    >>> [has_magic(path) for path in ("t/part-*", "t/{a,b}", r"t/\*", "t/day=1")]
    [True, True, True, False]
    """
    return _MAGIC.search(path) is not None


def pattern_of(part: str) -> re.Pattern[str]:
    r"""Compile one segment of a glob pattern to a regular expression.

    Supports `*`, `?`, `[ab]`, `[^a]`, `[!a]`, `{a,b}` and `\*`. Source: `GlobPattern` of Hadoop. Raises
    UnsupportedFeature for a brace that is not closed in the same segment. Matching takes time in proportion to the
    name, for any pattern.

    >>> bool(pattern_of("part-{0,1}*.[!c]*").fullmatch("part-1-x.parquet"))
    True
    """
    try:
        return re.compile("|".join(map(_regex, _alternatives(part))))
    except re.error as error:
        raise UnsupportedFeature(f"{part}: not a pattern ({error}); put a backslash before a literal [") from None


def _alternatives(part: str) -> list[list[str]]:
    """Expand the braces of a segment.

    Each alternative is a list of one-character patterns and _STAR.
    """
    current: list[list[str]] = [[]]
    opened: list[tuple[list[list[str]], list[list[str]]]] = []  # of each open brace: alternatives before it, choices
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
        raise UnsupportedFeature(
            f"{part}: its braces expand to too many paths; give a list or a simpler pattern instead"
        )


def _regex(row: Sequence[str]) -> str:
    """Return a regular expression without backtracking.

    Between two stars, the first match of a piece is as good as any later match.
    """
    pieces = [""]
    for token in row:
        if token == _STAR:
            pieces.append("")
        else:
            pieces[-1] += token
    inner = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return pieces[0] + inner + (f"[^/]*{pieces[-1]}" if len(pieces) > 1 else "")


def _members(members: str) -> str:
    """Escape characters that are special inside brackets only in Python.

    Ranges such as `a-z` keep their meaning.
    """
    return re.sub(r"\\(.)|([\[&~|^])", lambda match: re.escape(match[1] or match[2]), members)


class Listing(Protocol):
    """Storage in which glob patterns are expanded.

    A `prefix` is empty or ends in a slash.
    """

    def find(self, path: str) -> DataFile | None:
        """Return the file of exactly this name; None if missing."""

    def children(self, prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
        """List the subdirectories and files directly below a prefix whose names match."""


def matches(store: Listing, pattern: str) -> Iterator[tuple[str, DataFile | None]]:
    """Yield the paths that match a pattern, with the file or None.

    None means that the path may be a directory. Only directories that match the leading segments are listed, level by
    level.
    """
    prefix, parts = "", pattern.rstrip("/").split("/")
    if parts[0].endswith(":") and parts[1:2] == [""]:
        # The scheme and the host or bucket are never patterns.
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
