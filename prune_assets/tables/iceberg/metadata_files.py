"""Read metadata files for pyiceberg through this package's storage, only from allowed locations."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from parquet_core.storage import Traffic, address, find_file, list_directory, name_of, read_whole
from parquet_core.storage.allowed_locations import allowed_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.storage import DataFile

# Compression (gzip or zstd), which the name states before or after `.metadata.json`.
_PACKED = r"(?:\.(?:gz|zst|zstd))?"
_METADATA = re.compile(rf"(?:v(\d+)|(\d+)-[^/]+?){_PACKED}\.metadata\.json{_PACKED}")
_WANTED = re.compile(rf".+\.metadata\.json{_PACKED}|version-hint\.text")
HINT = "version-hint.text"


class _Read(NamedTuple):
    data: bytes

    def open(self, seekable: bool = True) -> BytesIO:  # noqa: ARG002, FBT001, FBT002 - as pyiceberg calls it
        return BytesIO(self.data)


@dataclass(slots=True)
class MetadataFiles:
    """FileIO for pyiceberg that reads only from allowed locations.

    `root`: directory of the table.
    `allow`: as in `open_snapshot`.
    """

    root: str
    allow: Sequence[str]
    traffic: Traffic = field(default_factory=Traffic)
    _at_hand: dict[str, bytes] = field(default_factory=dict)

    def fetch(self, locations: Sequence[str]) -> None:
        """Read files together and keep them for later calls of `new_input`."""
        files = [self.find(location) for location in locations]
        read = read_whole(files, purpose="log", traffic=self.traffic)
        self._at_hand = dict(zip(locations, read, strict=True))

    def new_input(self, location: str) -> _Read:
        """Return a file by its location in the metadata."""
        if location not in self._at_hand:
            self.fetch([location])
        return _Read(self._at_hand.pop(location))

    def find(self, location: str) -> DataFile:
        """Find a file by its location in the metadata.

        Raises UnsupportedFeature if it may not be opened, and MalformedFile if it is missing.
        """
        path = allowed_place(self.root, place_of(location), self.allow)
        file = find_file(path)
        if file is None:
            raise MalformedFile(
                f"{self.root}: its metadata reference the file {location}, which does not exist; was the table "
                f"moved, or was the snapshot expired?"
            )
        return file


def place_of(location: str) -> str:
    """Return the address of a location in metadata, where nothing is percent-encoded.

    >>> place_of("file:///lake/t/s=%20/a.parquet"), place_of("s3a://lake/t")
    ('/lake/t/s=%20/a.parquet', 's3://lake/t')
    """
    if location[:5].lower() != "file:":
        return address(location)
    below = location[5:]
    return "/" + (below.removeprefix("//").partition("/")[2] if below.startswith("//") else below.lstrip("/"))


@contextmanager
def wrapping_pyiceberg_errors(path: str) -> Iterator[None]:
    """Convert any error of pyiceberg in the block to MalformedFile with a one-line message."""
    try:
        yield
    except PruneError:
        raise
    except Exception as error:  # noqa: BLE001 - invalid metadata fails in many ways
        why = f"{type(error).__name__}: {error}".split("\n", 1)[0][:200]
        raise MalformedFile(f"{path}: not readable as Iceberg metadata ({why}); the file is damaged") from None


def is_metadata_file(location: str) -> bool:
    """Return True if a location has the name of a metadata file."""
    return _WANTED.fullmatch(location.rstrip("/").rpartition("/")[2]) is not None and not location.endswith(HINT)


def listed(table: str) -> list[DataFile]:
    """Return the files that determine a table's current metadata file; empty if there are none."""
    try:
        return list_directory(f"{table.rstrip('/')}/metadata", _WANTED)
    except UnsupportedFeature:  # the location cannot be listed, such as a web server
        return []


def newest(table: str, files: Sequence[DataFile], traffic: Traffic) -> str:
    """Return the path of the current metadata file among the files of a metadata directory.

    It is the file that the version hint names, otherwise the file with the highest version number. Raises
    UnsupportedFeature if two files have this number, because only the catalog knows which of them is current.
    """
    versions = {
        file.path: int(match[1] or match[2])
        for file in files
        if (match := _METADATA.fullmatch(name_of(file))) is not None
    }
    hint = next((file for file in files if name_of(file) == HINT), None)
    if hint is not None:
        hinted_name = next(read_whole([hint], purpose="log", traffic=traffic)).decode(errors="replace").strip()
        named = [file.path for file in files if name_of(file) in {hinted_name, f"{hinted_name}.metadata.json"}]
        if named:
            return named[0]
        if hinted_name.isdigit():  # Only tables without a catalog have a version number in the hint file.
            versions = {path: version for path, version in versions.items() if path.rpartition("/")[2].startswith("v")}
    unnumbered = [file.path for file in files if name_of(file) != HINT]
    if not versions and len(unnumbered) == 1:
        return unnumbered[0]
    last = [path for path, version in versions.items() if version == max(versions.values())]
    if not last and unnumbered:
        raise UnsupportedFeature(
            f"{table}: no file of its folder metadata is named by a version, as v3.metadata.json is, so only the "
            "catalog knows which one counts; name one of them, or the table as iceberg:catalog.database.table"
        )
    if not last:
        raise MalformedFile(f"{table}: its metadata folder has no metadata file; the table is damaged")
    if len(last) > 1:
        raise UnsupportedFeature(
            f"{table}: {' and '.join(path.rpartition('/')[2] for path in sorted(last))} have one number, and only the "
            "catalog knows which one counts; name one of them, or the table as iceberg:catalog.database.table"
        )
    return last[0]
