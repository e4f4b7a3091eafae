"""The last checkpoint: what is there of it, and `_last_checkpoint`, which names it.

The hint is written as a whole, with its checksum, and never to an older checkpoint than it names.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import msgspec

from deltalog.errors import MalformedLog
from deltalog.log.checkpoint import hinted, load_checkpoint
from deltalog.log.listing import HINT, list_log
from parquet_core.storage import Traffic, find_file, is_remote, put
from parquet_core.storage.failures import explaining

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from obstore import ObjectMeta, PutMode, UpdateVersion

    from deltalog.log.listing import LogListing
    from parquet_core.storage import DataFile


_IN_PARTS = 1
_ATTEMPTS = 5
_CHECKSUM = "checksum"


class WrittenCheckpoint(NamedTuple):
    """A checkpoint that is there; `written`: by this call.

    `actions`: its rows, `adds`: those of them that are files of the table, None when others wrote it. `notes`: what
    went wrong with what follows a checkpoint and does not matter for it.
    """

    version: int
    files: tuple[str, ...]
    actions: int
    adds: int | None
    bytes: int
    written: bool
    parts: int | None = None
    notes: tuple[str, ...] = ()


def checkpoint_of(listing: LogListing, version: int) -> tuple[WrittenCheckpoint | None, bool]:
    """Return the checkpoint of a version that is there, and whether there is one that cannot be read."""
    damaged = False
    for checkpoint in listing.checkpoints.get(version, ()):
        try:
            loaded = load_checkpoint(checkpoint, location=listing.location, traffic=Traffic())
            rows = sum(file.footer().num_rows for file in loaded.files)
        except MalformedLog:
            damaged = True
            continue
        # A Parquet manifest is among its files; of one in JSON the lines are its rows.
        rows += len(loaded.lines) if checkpoint.files[0].path.endswith(".json") else 0
        found = WrittenCheckpoint(
            version=version,
            files=tuple(file.path for file in checkpoint.files),
            actions=rows,
            adds=None,
            bytes=sum(file.size for file in loaded.opened),
            written=False,
            parts=len(checkpoint.files) if checkpoint.kind == _IN_PARTS else None,
        )
        return found, damaged
    return None, damaged


def hint_of(written: WrittenCheckpoint) -> dict[str, Any]:
    """Return the fields of `_last_checkpoint`, without the checksum."""
    fields = {
        "version": written.version,
        "size": written.actions,
        "parts": written.parts,
        "sizeInBytes": written.bytes,
        "numOfAddFiles": written.adds,
    }
    return {name: value for name, value in fields.items() if value is not None}


def write_hint(table: str, location: str, hint: Mapping[str, Any]) -> bool:
    """Write the hint of the last checkpoint, unless a newer one exists; return whether it was written.

    `said`: the fields of the protocol, `version` and `size` among them. Raises StorageFailure.
    """
    data = msgspec.json.encode({**hint, "checksum": checksum(hint)})
    path = f"{location}/{HINT}"
    if is_remote(location):
        return _to_store(table, path, hint["version"], data)
    with _alone_in(location):
        if _is_ahead(table, find_file(path), hint["version"]):
            return False
        put(path, data)
        return True


def _is_ahead(table: str, hint: DataFile | None, version: int) -> bool:
    """Tell whether a hint names a newer checkpoint, which is there: of one that is not, the table was made anew."""
    named = None if hint is None else hinted(hint, traffic=Traffic()).version
    return named is not None and named > version and named in list_log(table).checkpoints


@contextmanager
def _alone_in(directory: str) -> Iterator[None]:
    """Keep others of this machine from looking at the hint and replacing it in between; ends with the process."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - there is none on Windows
        yield
        return
    opened = os.open(directory, os.O_RDONLY)
    try:
        # Where directories cannot be locked, two writers at once may leave the older hint, which is only slower.
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _to_store(table: str, path: str, version: int, data: bytes) -> bool:
    import obstore
    from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

    from parquet_core.storage.objects import file_of, object_store

    bucket = object_store(path)
    key = bucket.key(path)
    for _ in range(_ATTEMPTS):
        with explaining(path):
            try:
                seen = obstore.head(bucket.store, key)
            except FileNotFoundError:
                seen = None
        if _is_ahead(table, None if seen is None else file_of(seen, path), version):
            return False
        with explaining(path):
            try:
                obstore.put(bucket.store, key, data, mode=_over(seen), use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                continue
            except NotSupportedError:
                obstore.put(bucket.store, key, data, use_multipart=False)
        return True
    return False


def _over(seen: ObjectMeta | None) -> PutMode:
    """Return the condition that a hint is still the one that was seen: by its ETag, to Google by its generation."""
    if seen is None:
        return "create"
    same: UpdateVersion = {}
    if seen["e_tag"] is not None:
        same["e_tag"] = seen["e_tag"]
    if seen["version"] is not None:
        same["version"] = seen["version"]
    return same or "overwrite"


def canonical(hint: Mapping[str, Any]) -> str:
    """Return the canonical form of an object, its own checksum left out.

    >>> canonical({"b": [None, "hi ho"], "a": {"y": 1}, "checksum": "x"})
    '"a"+"y"=1,"b"+0=null,"b"+1="hi%20ho"'
    """
    pairs = [pair for name, value in hint.items() if name != _CHECKSUM for pair in _pairs(_text(name), value)]
    return ",".join(f"{path}={value}" for path, value in sorted(pairs, key=lambda pair: pair[0].encode()))


def checksum(hint: Mapping[str, Any]) -> str:
    """Return the MD5 of the canonical form, as 32 hexadecimal digits."""
    return hashlib.md5(canonical(hint).encode(), usedforsecurity=False).hexdigest()


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
