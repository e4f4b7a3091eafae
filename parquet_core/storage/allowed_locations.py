"""Locations where files named by metadata may be opened.

These are the table's own directory and the locations that the user allows. Other people may have written a log or
manifest, but the files that it names are opened with the network access and the credentials of the user.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from parquet_core.errors import MalformedFile, UnsupportedFeature, WrongUse
from parquet_core.printable import shown
from parquet_core.storage import address, is_remote, local_path

if TYPE_CHECKING:
    from collections.abc import Sequence

ALLOW = "PRUNE_DELTA_ALLOW"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
# Percent-encoded dots, encoded any number of times.
_UPWARD = re.compile(r"%(?:25)*2e", re.IGNORECASE)


def addresses(allow: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return the allowed addresses as strings. Raises WrongUse for other values.

    >>> addresses(["s3://source/table", "/lake"])
    ('s3://source/table', '/lake')
    """
    if isinstance(allow, str | os.PathLike):
        raise WrongUse(f"allow={shown(allow)}: give a list of addresses, allow=[{shown(os.fspath(allow))}]")
    if not all(isinstance(address, str | os.PathLike) and os.fspath(address).strip() for address in allow):
        raise WrongUse(f"allow={shown(allow)}: give addresses as text, allow=['s3://source/table', '/lake']")
    return tuple(os.fspath(address) for address in allow)


def allowed_place(table: str, location: str, allow: Sequence[str] = ()) -> str:
    """Check that a file named by table metadata may be opened; return its address.

    `location`: the decoded address of the file. The result has no `..` segments. Raises UnsupportedFeature unless the
    file is below the table, below an address in `allow`, or below an address in PRUNE_DELTA_ALLOW (separated by
    commas), and MalformedFile for an invalid name.

    >>> allowed_place("s3://b/t", "s3://b/t/day=1/x.parquet"), allowed_place("s3://b/t", "s3://b/t/a/../x.parquet")
    ('s3://b/t/day=1/x.parquet', 's3://b/t/x.parquet')
    """
    if "\0" in location:
        raise MalformedFile(f"{table}: {location!r} is not the name of a file; the log is damaged")
    own = f"{table.rstrip('/')}/"
    if location.startswith(own) and not _leads_upward(location, len(own)):
        return location
    # The library that opens the location may percent-decode it again.
    spellings = _spellings(location)
    for root in (table, *allow, *_allowed()):
        if all(_is_below(spelling, root) for spelling in spellings):
            return _normal(location) if ".." in location.split("/") else location
    above = posixpath.dirname(_normal(location))
    raise UnsupportedFeature(
        f"{table}: the log names the file {location}, which is outside of the table's folder and was not opened; if "
        f"you trust the writer of the log, set {ALLOW}={above} (several addresses with commas), or pass "
        f"allow=[{above!r}] in Python"
    )


def _leads_upward(location: str, start: int) -> bool:
    # A substring search settles most locations quickly: a table has many files.
    return location.find("..", start) >= 0 or ("%" in location and _UPWARD.search(location, start) is not None)


def _spellings(location: str) -> set[str]:
    spellings = set()
    while location not in spellings:
        spellings.add(location)
        location = unquote(location)
    return spellings


def _allowed() -> list[str]:
    return [address.strip() for address in os.environ.get(ALLOW, "").split(",") if address.strip()]


def _is_below(location: str, address: str) -> bool:
    """Return True if a location is below an address.

    Both are compared as spelled or, if local, after resolving symbolic links.
    """
    roots = [f"{root.rstrip('/')}/" for root in _names(address)]
    return any(name.startswith(root) for name in _names(location) for root in roots)


def _names(location: str) -> list[str]:
    name = _normal(location)
    return [name] if is_remote(location) else [name, os.path.realpath(name)]


def _normal(location: str) -> str:
    """Return the normalized spelling of a location, without `.` and `..`."""
    if not is_remote(location):
        return os.path.abspath(local_path(location))
    uri = _URI.fullmatch(location)
    if uri is None:  # a chained URI contains no files
        return location
    path = posixpath.normpath(f"/{uri[3].lstrip('/')}").rstrip("/")
    return address(f"{uri[1]}://{uri[2]}{path}")
