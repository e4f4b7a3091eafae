"""The checksum of a JSON object in its canonical form: whatever the order of its fields and the blanks between them.

Source: the Delta protocol, "JSON checksum".
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEFT_OUT = "checksum"


def canonical(said: Mapping[str, Any]) -> str:
    """Return the canonical form of an object, its own checksum left out.

    >>> canonical({"b": [None, "hi ho"], "a": {"y": 1}, "checksum": "x"})
    '"a"+"y"=1,"b"+0=null,"b"+1="hi%20ho"'
    """
    pairs = [pair for name, value in said.items() if name != _LEFT_OUT for pair in _pairs(_text(name), value)]
    return ",".join(f"{path}={value}" for path, value in sorted(pairs, key=lambda pair: pair[0].encode()))


def checksum(said: Mapping[str, Any]) -> str:
    """Return the MD5 of the canonical form, as 32 hexadecimal digits."""
    return hashlib.md5(canonical(said).encode(), usedforsecurity=False).hexdigest()


def _pairs(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _pairs(f"{path}+{_text(name)}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _pairs(f"{path}+{number}", inner)
    else:
        yield path, _text(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    return f'"{quote(text, safe="-._~")}"'
