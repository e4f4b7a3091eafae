"""Redaction of addresses: without passwords, keys and signatures."""

from __future__ import annotations

import re

# `abfss://container@account...`: what stands before the @ is no secret there, unless a password follows a colon.
_USER = re.compile(r"(?i)(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^/\s'\"<>]*)@")
_QUERY = re.compile(r"(?i)(?P<address>[a-z][a-z0-9+.-]*://[^\s'\"<>?]*)\?(?=[^\s'\"<>]*=)[^\s'\"<>]*[^\s'\"<>;:,.)]")
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})


def redacted(text: str) -> str:
    """Return a text with the secrets of the addresses in it hidden: user and password, and what follows a `?`.

    >>> redacted("s3://KEY:SECRET@bucket/t: denied")
    's3://***@bucket/t: denied'
    >>> redacted("https://host/t.parquet?X-Amz-Signature=abc; plan again")
    'https://host/t.parquet?***; plan again'
    >>> redacted("abfss://lake@account.dfs.core.windows.net/t")
    'abfss://lake@account.dfs.core.windows.net/t'
    """
    return text if "://" not in text else _QUERY.sub(r"\g<address>?***", _USER.sub(_without_user, text))


def _without_user(found: re.Match[str]) -> str:
    if found["scheme"].lower() in _CONTAINERS and ":" not in found["user"]:
        return found[0]
    return f"{found['scheme']}://***@"
