"""Storage through fsspec: `memory://`, `hdfs://`, `sftp://`, ..."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fsspec

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.failures import changed, explaining, gone
from parquet_core.storage.files import DataFile

if TYPE_CHECKING:
    import re

# Keys under which fsspec file systems report the modification time.
_TIMES = ("mtime", "modified", "last_modified", "LastModified", "updated", "created")
_ETAGS = ("ETag", "etag", "e_tag")


@dataclass(frozen=True, slots=True)
class FileSystem:
    """An fsspec file system."""

    fs: Any

    def find(self, uri: str) -> DataFile | None:
        """Return the file of exactly this name; None if missing."""
        with explaining(uri):
            try:
                info = self._info(uri)
            except FileNotFoundError:
                return None
            return _file(info, uri) if info["type"] == "file" else None

    def walk(self, uri: str) -> list[DataFile]:
        """List all files at any depth below a directory; empty if missing."""
        with explaining(uri):
            try:
                self.fs.invalidate_cache(self._name(uri))
                infos = self.fs.find(self._name(uri), detail=True).values()
            except FileNotFoundError:
                return []
            return [_file(info, self._uri(info["name"], uri)) for info in infos]

    def children(self, prefix: str, wanted: re.Pattern[str]) -> tuple[list[str], list[DataFile]]:
        """List the subdirectories and files directly in a directory whose names match."""
        with explaining(prefix):
            try:
                self.fs.invalidate_cache(self._name(prefix))
                infos = self.fs.ls(self._name(prefix), detail=True)
            except FileNotFoundError:
                return [], []
            named = [(info, self._uri(info["name"].rstrip("/"), prefix)) for info in infos]
            named = [(info, path) for info, path in named if wanted.fullmatch(path.rpartition("/")[2])]
            directories = [path for info, path in named if info["type"] == "directory"]
            return directories, [_file(info, path) for info, path in named if info["type"] == "file"]

    def read(self, file: DataFile, start: int, length: int) -> bytes:
        """Read a range. Raises StorageFailure if the file changed since it was listed.

        fsspec has no conditional reads. Size, time and ETag, if the file system provides them, are requested after
        the read; only the read is counted.
        """
        with explaining(file.path):
            try:
                data = bytes(self.fs.cat_file(self._name(file.path), start=start, end=start + length))
                now = _file(self._info(file.path), file.path)
            except FileNotFoundError:
                raise gone(file) from None
            if now != file or len(data) != length:
                raise changed(file)
            return data

    def _info(self, uri: str) -> dict[str, Any]:
        self.fs.invalidate_cache(self._name(uri).rpartition("/")[0])
        info: dict[str, Any] = self.fs.info(self._name(uri))
        return info

    def _name(self, uri: str) -> str:
        return str(self.fs._strip_protocol(uri)).rstrip("/")  # noqa: SLF001 - fsspec's own way, for subclasses and callers

    def _uri(self, name: str, below: str) -> str:
        """Return the URI of a name, spelled with the prefix `below`."""
        inside = name.removeprefix(self._name(below))
        return below.rstrip("/") + inside if len(inside) < len(name) else str(self.fs.unstrip_protocol(name))


def filesystem(uri: str) -> FileSystem:
    """Return the file system of a URI.

    Raises UnsupportedFeature if fsspec does not support the scheme, or its driver is not installed.
    """
    with explaining(uri):
        return FileSystem(fsspec.core.url_to_fs(uri)[0])


def _file(info: dict[str, Any], path: str) -> DataFile:
    etag = next((str(info[key]) for key in _ETAGS if info.get(key) is not None), None)
    modified = next((info[key] for key in _TIMES if info.get(key) is not None), None)
    size = info["size"]
    if size is None:
        raise UnsupportedFeature(
            f"{path}: the file system does not report its size; copy the file to another file system"
        )
    return DataFile(path, int(size), _nanoseconds(modified), etag)


def _nanoseconds(modified: object) -> int:
    if isinstance(modified, str):
        try:
            modified = datetime.fromisoformat(modified)
        except ValueError:
            return 0
    if isinstance(modified, datetime):
        modified = (modified if modified.tzinfo else modified.replace(tzinfo=UTC)).timestamp()
    # Rounded to microseconds: a file system may report the same time as a number or as a datetime.
    return round(modified * 1e6) * 1000 if isinstance(modified, int | float) else 0
