"""Schemes of paths and URIs: whether they are local, and how they are spelled."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.known_stores import OF_SCHEME

# With `::` for the chained URIs of fsspec, which are refused by name.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]*)://")
_BLOBS = ".blob."
# The ARN of an access point, as the bucket of an address; its name follows a slash or a colon.
ACCESS_POINT = re.compile(
    r"arn:[^:/]+:s3:(?P<region>[^:/]+):(?P<account>\d+):accesspoint[:/](?P<name>[a-z0-9-]+)", re.ASCII
)
_ARN_WITH_SLASH = re.compile(r"(?:[^/]*:(?:accesspoint|outpost)/)?[^/]*")


def scheme_of(table: str) -> str | None:
    """Return the scheme of what is not on this machine; None for a local path or `file:` URI.

    >>> [scheme_of(path) for path in ("s3://b/t", "lake/t", "file:///t", "/t/a://b")]
    ['s3', None, None, None]
    """
    # The search for a substring decides about local paths, of which there may be many.
    if "://" not in table or (found := _SCHEME.match(table)) is None:
        return None
    scheme = found[1].lower()
    return None if scheme == "file" else scheme


def address(table: str) -> str:
    """Return the one spelling of a place: a local path, or a URI with one of the names that its store has.

    >>> [address(table) for table in ("s3a://lake/t", "S3N://lake/t", "file:///t", "lake/t")]
    ['s3://lake/t', 's3://lake/t', '/t', 'lake/t']
    >>> address("wasbs://lake@account.blob.core.windows.net/t")
    'abfss://lake@account.dfs.core.windows.net/t'
    """
    scheme = scheme_of(table)
    if scheme is None:
        return local_path(table)
    rest = table.partition("://")[2]
    bucket = bucket_of(table)
    below = rest[len(bucket) :]
    if scheme in {"wasb", "wasbs"}:
        bucket = bucket.replace(_BLOBS, ".dfs.", 1)
    elif bucket.startswith("arn:"):
        bucket = bucket.replace(":accesspoint:", ":accesspoint/", 1)
    store = OF_SCHEME.get(scheme)
    return f"{scheme if store is None else store.scheme}://{bucket}{below}"


def bucket_of(uri: str) -> str:
    """Return the bucket of a URI, the host of a web server, or the ARN of an access point.

    >>> bucket_of("s3://lake/t"), bucket_of("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/lake/t")
    ('lake', 'arn:aws:s3:eu-west-1:123456789012:accesspoint/lake')
    """
    rest = uri.partition("://")[2]
    if not rest.startswith("arn:"):
        return rest.partition("/")[0]
    found = _ARN_WITH_SLASH.match(rest)
    assert found is not None
    return found[0]


def root_of(uri: str) -> str:
    """Return the URI of the bucket that an object is in, with a slash at the end."""
    return f"{uri.partition('://')[0]}://{bucket_of(uri)}/"


def is_remote(table: str) -> bool:
    """Tell whether a path is a URI of something that is not on this machine."""
    return "://" in table and scheme_of(table) is not None


def local_path(table: str) -> str:
    """Turn a path or `file:` URI into a local path; UnsupportedFeature for any other scheme."""
    scheme = scheme_of(table)
    if scheme is not None:
        raise UnsupportedFeature(
            f"{table}: only metadata are read from {scheme}://, by plan and check; use a local path here"
        )
    return unquote(urlsplit(table).path) if table[:5].lower() == "file:" else table
