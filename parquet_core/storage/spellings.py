"""Addresses in the form of consoles and other tools, and their supported forms."""

from __future__ import annotations

import re
from typing import NamedTuple

_AMAZON = r"(?:amazonaws\.com(?:\.cn)?)"
_S3_HOST = rf"s3(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.{_AMAZON}"
_AZURE_HOST = r"(?P<account>[a-z0-9-]+(?:\.z\w\w)?)\.(?:dfs|blob)\.(?P<cloud>[a-z0-9.-]+)"
_IN_BUCKET = r"(?P<bucket>[^/?]+)(?P<path>/[^?]*)?"
_DETAIL = "the storage location that DESCRIBE DETAIL shows, or the table's name, unity:catalog.schema.table"
_VOLUME = "the storage location that DESCRIBE VOLUME shows"
# `Path` reduces the two slashes of a URI to one.
_COLLAPSED = re.compile(r"[a-z][a-z0-9]+:/[^/]")


class _Spelling(NamedTuple):
    pattern: re.Pattern[str]
    meant: str


def _spelling(pattern: str, meant: str) -> _Spelling:
    return _Spelling(re.compile(pattern, re.IGNORECASE), meant)


_S3 = r"s3://\g<bucket>\g<path>"
_GS = r"gs://\g<bucket>\g<path>"
_ABFSS = r"abfss://\g<bucket>@\g<account>.dfs.\g<cloud>\g<path>"
# Patterns are tried in this order. In messages, `meant` follows the word "write".
_SPELLINGS = (
    _spelling(rf"(?:s3[an]?://)?arn:[^:]+:s3:::{_IN_BUCKET}", _S3),
    _spelling(r"(?P<arn>arn:[^:]+:s3:.*)", r"s3://\g<arn>"),
    _spelling(rf"s3[an]?://{_S3_HOST}/{_IN_BUCKET}", _S3),
    _spelling(rf"s3[an]?://(?P<bucket>[^/]+)\.{_S3_HOST}(?P<path>/.*)?", _S3),
    _spelling(rf"s3[an]?://(?P<host>[^/:@]+:\d+)/{_IN_BUCKET}", rf"{_S3} with AWS_ENDPOINT_URL=http://\g<host>"),
    _spelling(rf"r2://{_IN_BUCKET}", rf"{_S3} with AWS_ENDPOINT_URL=https://ACCOUNT.r2.cloudflarestorage.com"),
    _spelling(rf"(?:minio|ceph|cosn?|obs|b2|wasabi|tos|bos|ks3|swift)://{_IN_BUCKET}", rf"{_S3} with AWS_ENDPOINT_URL"),
    _spelling(rf"(?:abfss?|wasbs?|azure|az|adl)://{_AZURE_HOST}/{_IN_BUCKET}", _ABFSS),
    _spelling(
        r"(?:abfss?|wasbs?)://(?P<bucket>[^/@]+)@(?P<account>[a-z0-9]+)(?P<path>/.*)?",
        r"abfss://\g<bucket>@\g<account>.dfs.core.windows.net\g<path>",
    ),
    _spelling(r"adl://.*", "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"),
    _spelling(r"(?:dbfs://?)?/?Volumes/.*", _VOLUME),
    _spelling(r"dbfs:.*|/dbfs/.*", _DETAIL),
    _spelling(
        r"(?P<scheme>s3[an]?|gs|gcs|abfss?|wasbs?|az|azure):/?(?P<rest>[^/].*)",
        r"\g<scheme>://\g<rest> as text, not as a Path",
    ),
)
_URLS = (
    _spelling(rf"https?://{_S3_HOST}/{_IN_BUCKET}", _S3),
    _spelling(rf"https?://(?P<bucket>[^/]+)\.{_S3_HOST}(?P<path>/[^?]*)?", _S3),
    _spelling(
        rf"(?P<endpoint>https?://[a-z0-9.]+\.r2\.cloudflarestorage\.com)/{_IN_BUCKET}",
        rf"{_S3} with AWS_ENDPOINT_URL=\g<endpoint>",
    ),
    _spelling(rf"https?://{_AZURE_HOST}/{_IN_BUCKET}", _ABFSS),
    _spelling(rf"https?://storage\.(?:googleapis|cloud\.google)\.com/{_IN_BUCKET}", _GS),
    _spelling(r"https?://(?P<bucket>[^/]+)\.storage\.googleapis\.com(?P<path>/[^?]*)?", _GS),
)


def readable_form(address: str) -> str | None:
    """Return the supported form of another tool's address; None if `address` is readable.

    >>> readable_form("arn:aws:s3:::lake/orders"), readable_form("s3://minio:9000/lake/orders")
    ('s3://lake/orders', 's3://lake/orders with AWS_ENDPOINT_URL=http://minio:9000')
    >>> readable_form("s3://lake/orders"), readable_form("lake/orders")
    (None, None)
    """
    return _first(address, _SPELLINGS)


def step_where_missing(path: str) -> str:
    """Return the next step for a local path that does not exist.

    >>> step_where_missing("lake/orders"), step_where_missing("s3:/lake/orders")
    ('check the path', 'write s3://lake/orders as text, not as a Path')
    """
    if (meant := readable_form(path)) is not None:
        return f"write {meant}"
    return "give the URI as text, not as a Path" if _COLLAPSED.match(path) else "check the path"


def store_of_url(url: str) -> str | None:
    """Return the store address for an HTTP URL; None for other servers.

    >>> store_of_url("https://lake.s3.eu-north-1.amazonaws.com/orders/")
    's3://lake/orders/'
    """
    return _first(url, _URLS)


def _first(address: str, spellings: tuple[_Spelling, ...]) -> str | None:
    for spelling in spellings:
        if (match := spelling.pattern.fullmatch(address)) is not None:
            return match.expand(spelling.meant)
    return None
