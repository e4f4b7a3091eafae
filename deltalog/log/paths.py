"""Canonical paths of files in actions: percent-decoded exactly once, one spelling per file.

`/x`, `file:/x` and `file:///x` are one file; other URIs are not changed. Relative paths are below the table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import from_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence


_FILE_URI = re.compile(r"file:(?://[^/]*)?(/.*)", re.IGNORECASE | re.DOTALL)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
# Colons are encoded: one in the first directory would turn it into a URI scheme.
_NOT_ENCODED = "/=@!$&'()*+,;~"
_HEX = np.full(256, 255, np.uint8)
_HEX[np.frombuffer(b"0123456789", np.uint8)] = np.arange(10)
_HEX[np.frombuffer(b"abcdef", np.uint8)] = np.arange(10, 16)
_HEX[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)
# Limits how many encoded texts are in memory in addition to the originals.
_ENCODED_AT_ONCE = 1 << 16


def canonical_path(path: str) -> str:
    """Return the canonical spelling of an action's path.

    >>> [canonical_path(path) for path in ("p=a%2520b/x", "file:///t/x", "/t/x", "s3://b/a%20b")]
    ['p=a%20b/x', '/t/x', '/t/x', 's3://b/a b']
    """
    decoded = unquote(path) if "%" in path else path
    # This function is called for hundreds of thousands of paths; very few are `file:` URIs.
    uri = _FILE_URI.fullmatch(decoded) if decoded[:5].lower() == "file:" else None
    return uri[1] if uri else decoded


def canonical_paths(paths: pa.Array) -> pa.Array:
    """Return the canonical spelling of each path, as `canonical_path` does."""
    if _holds_percent(paths):
        paths = _decoded(paths)
    of_files = pc.starts_with(paths, "file:", ignore_case=True)
    if not pc.any(of_files).as_py():
        return paths
    plain = pc.replace_substring_regex(paths, "(?is)^file:(?://[^/]*)?(/.*)$", r"\1")
    return pc.if_else(of_files, plain, paths)


def _holds_percent(paths: pa.Array) -> bool:
    data = paths.buffers()[2]
    return data is not None and bool((np.frombuffer(data, np.uint8) == ord("%")).any())


def _decoded(paths: pa.Array) -> pa.Array:
    """Percent-decode all paths at once."""
    paths = pa.concat_arrays([paths])  # A copy: the buffers of a slice contain other paths too.
    offsets = np.frombuffer(paths.buffers()[1], np.int32, len(paths) + 1).astype(np.int64)
    data = np.frombuffer(paths.buffers()[2], np.uint8)[: offsets[-1]].copy()
    escapes = np.flatnonzero(data == ord("%"))
    last = offsets[np.searchsorted(offsets, escapes, side="right")]
    escapes = escapes[escapes + 2 < last]
    high, low = _HEX[data[escapes + 1]], _HEX[data[escapes + 2]]
    good = (high < 16) & (low < 16)
    escapes = escapes[good]
    data[escapes] = high[good] * 16 + low[good]
    keep = np.ones(len(data), np.bool_)
    keep[escapes + 1] = keep[escapes + 2] = False
    before = np.concatenate([[0], np.cumsum(keep)])
    decoded = pa.Array.from_buffers(
        pa.binary(),
        len(paths),
        [None, pa.py_buffer(before[offsets].astype(np.int32)), pa.py_buffer(data[keep])],
    )
    try:
        return decoded.cast(pa.string())
    except pa.ArrowInvalid:
        # Java replaces invalid UTF-8 by the replacement character, and so does unquote.
        return pa.array([unquote(path) for path in paths.to_pylist()], pa.string())


def is_absolute(path: str) -> bool:
    """True if a canonical path is absolute, not relative to the table.

    >>> [is_absolute(path) for path in ("a/b", "/a", "s3://b/a", "a:b/c")]
    [False, True, True, False]
    """
    return path.startswith("/") or _URI.match(path) is not None


def resolve(table: str, path: str) -> str:
    """Return the location of a file from its canonical path.

    >>> resolve("s3://b/t/", "day=1/x.parquet"), resolve("t", "/u/x.parquet")
    ('s3://b/t/day=1/x.parquet', '/u/x.parquet')
    """
    return path if is_absolute(path) else f"{table.rstrip('/')}/{path}"


def encoded_path(path: str) -> str:
    """Encode a relative or absolute path as actions spell it.

    >>> encoded_path("p=a%20b/x y+1.parquet"), canonical_path(encoded_path("a:b/é#?"))
    ('p=a%2520b/x%20y+1.parquet', 'a:b/é#?')
    """
    return quote(path, safe=_NOT_ENCODED)


def text_array(strings: Sequence[str | None]) -> pa.Array:
    """Return texts as an array of large strings; None becomes null.

    >>> text_array(["a", None, "\u00e9"]).to_pylist()
    ['a', None, '\u00e9']
    """
    lengths, data = list[int](), bytearray()
    for first in range(0, len(strings), _ENCODED_AT_ONCE):
        batch = ["" if string is None else string for string in strings[first : first + _ENCODED_AT_ONCE]]
        joined = "".join(batch)
        lengths += map(len, batch if joined.isascii() else [string.encode() for string in batch])
        data += joined.encode()
    stops = np.cumsum(lengths, dtype=np.int64)
    valid = np.array([string is not None for string in strings], np.bool_)
    validity = None if valid.all() else from_numpy(valid).buffers()[1]
    offsets = pa.py_buffer(np.concatenate([np.zeros(1, np.int64), stops]))
    return pa.Array.from_buffers(pa.large_string(), len(strings), [validity, offsets, pa.py_buffer(data)])


def path_array(paths: Sequence[str]) -> pa.Array:
    """Return paths as an array of strings. Raises ArrowInvalid if they exceed 2 GiB.

    >>> path_array(["a", "b"]).type
    DataType(string)
    """
    return text_array(paths).cast(pa.string())
