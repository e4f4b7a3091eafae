"""Open a file for a reader that wants to seek, such as pyarrow's."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from parquet_core.storage.files import Traffic
from parquet_core.storage.ranges import read_range
from parquet_core.storage.schemes import is_remote

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from parquet_core.storage.files import DataFile


def open_file(file: DataFile, *, traffic: Traffic | None = None) -> str | io.BufferedIOBase:
    """Return what pyarrow opens: the path of a local file, a seekable reader of a remote one.

    The reader fetches what is asked for, a request each, and adds it to `traffic` as `rows`.
    """
    return _Reader(file, Traffic() if traffic is None else traffic) if is_remote(file.path) else file.path


class _Reader(io.BufferedIOBase):
    def __init__(self, file: DataFile, traffic: Traffic) -> None:
        self._file = file
        self._traffic = traffic
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._file.size}[whence]
        self._place = max(0, origin + offset)
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._file.size - self._place)
        length = left if size is None or size < 0 else min(size, left)
        data = read_range(self._file, self._place, length, purpose="rows", traffic=self._traffic) if length else b""
        self._place += length
        return data

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
