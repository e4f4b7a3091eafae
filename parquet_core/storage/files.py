"""A listed file (`DataFile`) and ranges of it, the count of what was fetched (`Traffic`), and which names are data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import MalformedFile
from parquet_core.printable import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence


# What a directory holds while a write of several files is carried out: see `parquet_core.storage.journal`.
JOURNAL = "_prune_journal.json"
# Files that Spark takes the schema of a directory from.
SUMMARIES = ("_common_metadata", "_metadata")


class DataFile(NamedTuple):
    """A file as it was when listed: what must still be true when its planned ranges are read.

    `path`: a local path, or the full URI of what lies elsewhere. `modified_ns`: 0 where the store does not say.
    `etag`: what a remote store names this very content with; None where it has no such name. `changed_ns`: when this
    machine's file system last changed the file in any way (ctime), which nobody can set; 0 elsewhere.
    """

    path: str
    size: int
    modified_ns: int
    etag: str | None = None
    changed_ns: int = 0


class FetchedBlock(NamedTuple):
    """Bytes of a file, and where they begin."""

    start: int
    data: bytes


@dataclass(slots=True)
class Traffic:
    """What was fetched; `bytes` by purpose (`footer`, `index`, `bloom`). Listings are not counted.

    `ahead`: by path the blocks that were fetched before they are asked for.
    """

    requests: int = 0
    bytes: dict[str, int] = field(default_factory=dict)
    ahead: dict[str, list[FetchedBlock]] = field(default_factory=dict)

    def add(self, purpose: str, count: int, *, requests: int = 1) -> None:
        """Count `requests` that brought `count` bytes in all."""
        self.requests += requests
        self.bytes[purpose] = self.bytes.get(purpose, 0) + count


def name_of(file: DataFile) -> str:
    """Return the last part of the path, for messages."""
    return redacted(file.path).rpartition("/")[2]


def listed_name(file: DataFile) -> str:
    """Return the last part of the path as it is, by which Spark tells data; of a web address without its query.

    >>> [listed_name(DataFile(path, 1, 0)) for path in ("t/a?b", "https://host/a.parquet?key=b/_c")]
    ['a?b', 'a.parquet']
    """
    path = file.path.partition("?")[0] if file.path.startswith(("http://", "https://")) else file.path
    return path.rpartition("/")[2]


def is_hidden(name: str) -> bool:
    """Tell whether Spark passes over a file or directory of this name.

    Source: `HadoopFSUtils.shouldFilterOutPathName` and `PartitioningAwareFileIndex.isDataPath`.

    >>> [is_hidden(name) for name in ("_SUCCESS", ".crc", "_day=1", "part-0.parquet")]
    [True, True, False, False]
    """
    first = name[:1]
    return (first == "_" and "=" not in name) or first == "." or name.endswith("._COPYING_")


def is_unlisted(name: str) -> bool:
    """Tell whether Spark passes over a file or directory of this name, and does not even look for a summary in it.

    Source: `HadoopFSUtils.shouldFilterOutPathName`.

    >>> [is_unlisted(name) for name in ("_SUCCESS", "_metadata", "part-0.parquet")]
    [True, False, False]
    """
    return is_hidden(name) and not name.startswith(("_metadata", "_common_metadata"))


class Block(NamedTuple):
    """Bytes that are read at once; `members`: which of the ranges lie in it."""

    start: int
    stop: int
    members: list[int]


def blocks_of(ranges: Sequence[tuple[int, int]], hole: int) -> list[Block]:
    """Join (start, length) ranges that are at most `hole` bytes apart.

    >>> blocks_of([(100, 10), (0, 10), (12, 5)], hole=4)
    [Block(start=0, stop=17, members=[1, 2]), Block(start=100, stop=110, members=[0])]
    """
    blocks: list[Block] = []
    first = stop = 0
    members: list[int] = []
    for i in sorted(range(len(ranges)), key=ranges.__getitem__):
        start, length = ranges[i]
        if members and start > stop + hole:
            blocks.append(Block(first, stop, members))
            members = []
        if not members:
            first = stop = start
        members.append(i)
        stop = max(stop, start + length)
    if members:
        blocks.append(Block(first, stop, members))
    return blocks


def cut(ranges: Sequence[tuple[int, int]], blocks: Sequence[Block], data: Sequence[bytes]) -> list[bytes]:
    """Cut the ranges out of the bytes of their blocks; answers stand in the order of `ranges`."""
    answers = [b""] * len(ranges)
    for block, read in zip(blocks, data, strict=True):
        for i in block.members:
            start, length = ranges[i]
            answers[i] = read[start - block.start : start - block.start + length]
    return answers


def outside(file: DataFile, start: int, length: int) -> MalformedFile:
    """Make the error of a range that reaches out of its file."""
    return MalformedFile(
        f"{file.path}: bytes {start} to {start + length} are outside of the file ({file.size} bytes); "
        "its metadata is damaged"
    )
