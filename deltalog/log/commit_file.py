"""Commits and other JSON files of the log: one action per line.

A large file is read in blocks that end at line breaks: its bytes and actions are never all in memory at once.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from deltalog.errors import MalformedLog
from deltalog.log.actions import Line
from parquet_core.storage import read_range, read_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parquet_core.storage import DataFile, Traffic

AnyLine = TypeVar("AnyLine", bound=Line)
IN_COMMIT = "inCommitTimestamp"
LINES = msgspec.json.Decoder(Line)
# Actions may be separated by more than a line break.
_BLANK = b" \t\r\n"
# Number of bytes of a file that are read at a time.
_BLOCK_BYTES = 64 << 20
# A line of this size is damage: Java readers hold a line in one string of less than 2 GiB.
_LINE_BYTES = 128 << 20


def read_commits(
    files: Sequence[DataFile], decoder: msgspec.json.Decoder[AnyLine], *, traffic: Traffic
) -> Iterator[Iterable[AnyLine]]:
    """Yield the decoded lines of each JSON file, in order.

    `decoder`: decides which fields of an action are decoded. A large file is read while its lines are iterated. Raises
    MalformedLog, which names the line, and the errors of `read_each`.
    """
    # A writer that creates the commit by a hard link then removes the temporary name, which changes only the ctime:
    # ignore it.
    commits = [file._replace(changed_ns=0) for file in files]
    for is_large, group in groupby(commits, lambda file: file.size > _BLOCK_BYTES):
        if is_large:
            yield from (chain.from_iterable(_in_blocks(file, decoder, traffic)) for file in group)
            continue
        small = list(group)
        for file, data in zip(small, read_whole(small, purpose="log", traffic=traffic), strict=True):
            yield _decoded(data, decoder, file)


def info_of(lines: Iterable[Line]) -> dict[str, Any]:
    """Return the commitInfo of a commit; empty if it is missing or not an object.

    Readers do not depend on it, so invalid content is no error.
    """
    encoded = next((line.commit_info for line in lines if line.commit_info), None)
    try:
        info = None if encoded is None else msgspec.json.decode(encoded)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return info if isinstance(info, dict) else {}


def in_commit_time(info: Mapping[str, Any]) -> int | None:
    """Return the in-commit timestamp of a `commitInfo`, in milliseconds; None if missing."""
    timestamp = info.get(IN_COMMIT)
    return timestamp if isinstance(timestamp, int) else None


def _in_blocks(file: DataFile, decoder: msgspec.json.Decoder[AnyLine], traffic: Traffic) -> Iterator[list[AnyLine]]:
    start, line, rest = 0, 1, b""
    while start < file.size:
        length = min(_BLOCK_BYTES, file.size - start)
        data = rest + read_range(file, start, length, purpose="log", traffic=traffic)
        start += length
        stop = len(data) if start == file.size else data.rfind(b"\n") + 1
        block, rest = data[:stop], data[stop:]
        del data
        if block:
            yield _decoded(block, decoder, file, line)
            line += block.count(b"\n")
        _refuse_long_line(rest, file, line)


def _refuse_long_line(begun: bytes, file: DataFile, line: int) -> None:
    """Raise MalformedLog if an incomplete line cannot be an action: too long, or not JSON."""
    action = begun.lstrip(_BLANK)
    if len(begun) > _LINE_BYTES:
        problem = f"a line of more than {_LINE_BYTES:,} bytes"
    elif action and not action.startswith(b"{"):
        problem = f"no action begins with {action[:1]!r}"
    else:
        return
    raise MalformedLog(f"{file.path}, line {line}: {problem}; restore the file from a copy")


def _decoded(data: bytes, decoder: msgspec.json.Decoder[AnyLine], file: DataFile, first_line: int = 1) -> list[AnyLine]:
    try:
        return decoder.decode_lines(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        return list(_one_by_one(data, decoder, file, first_line))


def _one_by_one(
    data: bytes, decoder: msgspec.json.Decoder[AnyLine], file: DataFile, first_line: int
) -> Iterator[AnyLine]:
    lines = list(_texts(data, first_line))
    for line_number, line in lines:
        try:
            yield decoder.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError) as error:
            whole = isinstance(error, msgspec.ValidationError) or data.endswith(b"\n")
            cut = line_number == lines[-1][0] and not whole
            what = "the file ends in the middle of an action" if cut else str(error) or "no JSON"
            raise MalformedLog(f"{file.path}, line {line_number}: {what}; restore the file from a copy") from None


def _texts(data: bytes, first_line: int) -> Iterator[tuple[int, bytes]]:
    """Yield the non-blank lines with their line numbers in the file."""
    return ((line_number, line) for line_number, line in enumerate(data.split(b"\n"), first_line) if line.strip(_BLANK))
