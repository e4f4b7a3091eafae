"""Write `_last_checkpoint`: as a whole, with its checksum, and never to an older checkpoint than it names."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.log.listing import HINT, list_log
from deltalog.maintenance.json_checksum import checksum
from parquet_core.errors import PruneError
from parquet_core.storage import Traffic, find_file, is_remote, put, read_whole
from parquet_core.storage.failures import explaining

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from obstore import ObjectMeta, PutMode, UpdateVersion

    from parquet_core.storage import DataFile

_MAX_BYTES = 16 << 20
_ATTEMPTS = 5


class _Said(msgspec.Struct):
    version: int


def write_hint(table: str, place: str, said: Mapping[str, Any]) -> bool:
    """Say which checkpoint is the last, unless a newer one is named that is there; tells whether it was said.

    `said`: the fields of the protocol, `version` and `size` among them. Raises StorageFailure.
    """
    data = msgspec.json.encode({**said, "checksum": checksum(said)})
    path = f"{place}/{HINT}"
    if is_remote(place):
        return _to_store(table, path, said["version"], data)
    with _alone_in(place):
        if _is_ahead(table, find_file(path), said["version"]):
            return False
        put(path, data)
        return True


def _is_ahead(table: str, hint: DataFile | None, version: int) -> bool:
    """Tell whether a hint names a newer checkpoint, which is there: of one that is not, the table was made anew."""
    named = None if hint is None else _version_of(hint)
    return named is not None and named > version and named in list_log(table).checkpoints


def _version_of(hint: DataFile) -> int | None:
    if not 0 < hint.size <= _MAX_BYTES:
        return None
    try:
        data = next(read_whole([hint], purpose="log", traffic=Traffic()))
        return msgspec.json.decode(data, type=_Said).version
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, PruneError):
        # What cannot be understood names nothing; it is replaced.
        return None


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
