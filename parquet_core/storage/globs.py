"""Patterns in URIs, as Hadoop understands them in paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.storage.files import DataFile
    from parquet_core.storage.remote import Remote

_MAGIC = re.compile(r"[*?\[{\\]")
_TOKEN = re.compile(r"\\(.)|(\*+)|(\?)|\[([!^]?)((?:\\.|[^\]\\])+)\]|([{},])|(.)", re.DOTALL)


def has_magic(path: str) -> bool:
    r"""Tell whether a path is a pattern.

    >>> [has_magic(path) for path in ("t/part-*", "t/{a,b}", r"t/\*", "t/day=1")]
    [True, True, True, False]
    """
    return _MAGIC.search(path) is not None


def pattern_of(part: str) -> re.Pattern[str]:
    r"""Turn a part of a path into what its names must match: `*`, `?`, `[ab]`, `[^a]`, `[!a]`, `{a,b}`, `\*`.

    Source: `GlobPattern` of Hadoop. Raises UnsupportedFeature for a brace that is not closed in the same part.

    >>> bool(pattern_of("part-{0,1}*.[!c]*").fullmatch("part-1-x.parquet"))
    True
    """
    depth = 0
    made = []
    for escaped, stars, mark, negated, members, brace, literal in _TOKEN.findall(part):
        if stars or mark:
            made.append("[^/]*" if stars else "[^/]")
        elif members:
            made.append(f"[{'^' if negated else ''}{_members(members)}]")
        elif brace == "{":
            depth += 1
            made.append("(?:")
        elif brace and depth:
            depth -= brace == "}"
            made.append("|" if brace == "," else ")")
        else:
            made.append(re.escape(escaped or brace or literal))
    if depth:
        raise UnsupportedFeature(f"{part}: a brace that is not closed before the next slash is not understood")
    try:
        return re.compile("".join(made))
    except re.error as error:
        raise UnsupportedFeature(f"{part}: not a pattern ({error}); put a backslash before a [ that is meant") from None


def _members(text: str) -> str:
    """Escape what means something inside of brackets to Python alone; `a-z` keeps its meaning."""
    return re.sub(r"\\(.)|([\[&~|^])", lambda found: re.escape(found[1] or found[2]), text)


def matches(store: Remote, pattern: str) -> Iterator[tuple[str, DataFile | None]]:
    """Find what a pattern stands for: the URI with the file, or with None where it may be a directory.

    Lists the directories that match so far, level by level, not the bucket.
    """
    scheme, _, rest = pattern.partition("://")
    host, *parts = rest.rstrip("/").split("/")
    return _below(store, f"{scheme}://{host}", parts)


def _below(store: Remote, base: str, parts: list[str]) -> Iterator[tuple[str, DataFile | None]]:
    literal = next((i for i, part in enumerate(parts) if has_magic(part)), len(parts))
    base = "/".join([base, *parts[:literal]])
    if literal == len(parts):
        yield base, store.find(base)
        return
    wanted, further = pattern_of(parts[literal]), parts[literal + 1 :]
    directories, files = store.children(base)
    for directory in directories:
        if wanted.fullmatch(directory.rpartition("/")[2]):
            yield from _below(store, directory, further) if further else [(directory, None)]
    if not further:
        yield from ((file.path, file) for file in files if wanted.fullmatch(file.path.rpartition("/")[2]))
