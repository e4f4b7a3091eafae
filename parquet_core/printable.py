"""Make text from outside printable: one line, no control characters, no secrets."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# `Path` leaves one slash after the colon of an address. In `abfss://container@account...`, the text before the @ is not
# a secret, unless a password follows a colon.
_USER = re.compile(
    r"(?i)(?P<scheme>[a-z][a-z0-9+.-]*):(?P<slashes>//?)"
    r"(?P<user>[^/\s'\"<>]*|[^/\s'\"<>:]*:(?!\d+/)[^\s'\"<>@]*)@"
)
_QUERY = re.compile(r"(?i)(?P<address>[a-z][a-z0-9+.-]*:/[^\s'\"<>?]*)\?(?=[^\s'\"<>]*=)[^\s'\"<>]*[^\s'\"<>;:,.)]")
# Options that contain a signature or a credential. They are hidden even if a message has only the end of the address.
_OPTION = re.compile(
    r"(?i)(?P<name>[?&;](?:sig|signature|token|password|pwd|secret|(?:access|account|secret)_?key|accountkey)"
    r"|x-(?:amz|goog)-(?:signature|security-token|credential))=[^\s&;'\"<>,)]+"
)
HIDDEN = "***"
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
# Longer messages are shortened in the middle: the beginning names the place, the end names the next step.
MOST_CHARACTERS = 2_000
_LAST = 400


def redacted(text: str) -> str:
    """Hide the secrets of addresses in a text.

    These are the user and password, and the query after a `?`.

    >>> redacted("s3://KEY:SECRET@bucket/t: denied")
    's3://***@bucket/t: denied'
    >>> redacted("s3:/KEY:SEC/RET@bucket/t: no such file")  # as a Path has it
    's3:/***@bucket/t: no such file'
    >>> redacted("https://host/t.parquet?X-Amz-Signature=abc; plan again")
    'https://host/t.parquet?***; plan again'
    >>> redacted("abfss://lake@account.dfs.core.windows.net/t")
    'abfss://lake@account.dfs.core.windows.net/t'
    >>> redacted("sc://host:15002/;token=SECRET"), redacted("GET /t?list&sig=a%2Fb denied")
    ('sc://host:15002/;token=***', 'GET /t?list&sig=*** denied')
    """
    if ":/" in text:
        text = _QUERY.sub(rf"\g<address>?{HIDDEN}", _USER.sub(_without_user, text))
    return _OPTION.sub(rf"\g<name>={HIDDEN}", text) if "=" in text else text


def _without_user(match: re.Match[str]) -> str:
    if match["scheme"].lower() in _CONTAINERS and ":" not in match["user"]:
        return match[0]
    return f"{match['scheme']}:{match['slashes']}{HIDDEN}@"


def printable(text: str, *, keep: str = "") -> str:
    r"""Escape control characters and lone surrogates, except the characters in `keep`.

    A terminal would execute control characters, and an encoder would refuse lone surrogates.

    >>> printable("a\x1b[2Jb"), printable("caf\u00e9\udc80"), printable("a\nb", keep="\n")
    ('a\\x1b[2Jb', 'café\\udc80', 'a\nb')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def one_line(text: str) -> str:
    r"""Return a message on one line, shortened to about 2,000 characters.

    >>> one_line("a\nb"), len(one_line("x" * 10_000)) < 2_100
    ('a\\nb', True)
    """
    if len(text) > MOST_CHARACTERS:
        left_out = len(text) - MOST_CHARACTERS
        text = f"{text[: MOST_CHARACTERS - _LAST]} … ({left_out:,} characters) … {text[-_LAST:]}"
    return printable(text)


def shown(value: object) -> str:
    """Return any value as one line for a message.

    >>> shown("a"), shown(10**10_000)
    ("'a'", 'a value of type int')
    """
    try:
        return one_line(repr(value))
    except Exception:  # noqa: BLE001 - repr fails for very long numbers, and may fail in any class
        return f"a value of type {type(value).__name__}"


def listed(names: Iterable[str], most: int = 10) -> str:
    """Join names for a message; `...` replaces the names after the first `most`.

    >>> listed("abc"), listed("abc", 2), listed([])
    ('a, b, c', 'a, b, ...', '')
    """
    first = list(islice(names, most + 1))
    return ", ".join(first if len(first) <= most else [*first[:most], "..."])


def listed_with_count(names: Sequence[str], most: int) -> str:
    """List the first `most` names and count the others.

    >>> listed_with_count("abc", 3), listed_with_count("abc", 1)
    ('a, b, c', 'a and 2 more')
    """
    others = len(names) - most
    return ", ".join(names[:most]) + (f" and {others:,} more" if others > 0 else "")
