"""Read logs in a zip without unpacking the zip; each member is read like a file."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from parquet_core.storage import DataFile, Traffic, read_range

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 1 << 20
_MOST_MEMBERS = 100_000


class ZippedFile(NamedTuple):
    """A member of a zip.

    `size`: its compressed bytes.
    """

    archive: DataFile
    member: str
    size: int

    @property
    def path(self) -> str:
        """The address of the zip and the name of the member."""
        return f"{self.archive.path}!/{self.member}"


LogFile: TypeAlias = DataFile | ZippedFile


def is_zip(file: LogFile) -> bool:
    """Return True if the name of a file ends in .zip. A zip inside a zip is not read."""
    return isinstance(file, DataFile) and file.path.lower().endswith(".zip")


def members_of(file: LogFile) -> list[ZippedFile]:
    """Return the files in a zip. Raises MalformedFile if the zip is damaged."""
    if not isinstance(file, DataFile):
        return []
    with _naming_damage(file.path), zipfile.ZipFile(_seekable(file, Traffic())) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise MalformedFile(f"{file.path}: a zip of more than {_MOST_MEMBERS:,} files; name one of event logs")
        return [ZippedFile(file, member.filename, member.compress_size) for member in members if not member.is_dir()]


def damaged_zip(file: LogFile) -> MalformedFile:
    """Return the error for a zip whose members cannot be listed."""
    try:
        members_of(file)
    except MalformedFile as error:
        return error
    return MalformedFile(f"{file.path}: a damaged zip")


def read_member(file: ZippedFile, traffic: Traffic) -> Iterator[bytes]:
    """Yield the bytes of a member, block by block. Raises MalformedFile, UnsupportedFeature."""
    source = _seekable(file.archive, traffic)
    with _naming_damage(file.path), zipfile.ZipFile(source) as archive, archive.open(file.member) as member:
        while block := member.read(_BLOCK):
            yield block


@contextmanager
def _naming_damage(path: str) -> Iterator[None]:
    try:
        yield
    except PruneError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OverflowError) as error:
        raise MalformedFile(f"{path}: a damaged zip ({error})") from None
    except (RuntimeError, NotImplementedError) as error:
        raise UnsupportedFeature(f"{path}: a zip that cannot be read ({error}); unpack it") from None


def _seekable(file: DataFile, traffic: Traffic) -> io.BufferedReader:
    return io.BufferedReader(_SeekableFile(file, traffic), _BLOCK)


class _SeekableFile(io.RawIOBase):
    """A listed file with random access."""

    def __init__(self, file: DataFile, traffic: Traffic) -> None:
        self.file, self.traffic, self.position = file, traffic, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.file.size}[whence]
        self.position = max(0, start + offset)
        return self.position

    def tell(self) -> int:
        return self.position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any buffer of bytes
        length = max(0, min(len(buffer), self.file.size - self.position))
        if length:
            buffer[:length] = read_range(self.file, self.position, length, purpose="event log", traffic=self.traffic)
            self.position += length
        return length
