"""Coalescing of byte ranges of a file into requests, and cutting the ranges out of the responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.storage.files import DataFile


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
