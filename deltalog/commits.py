"""Commits and other JSON files of the log: one action a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from deltalog.actions import Add, DeletionVector, Line, Remove, fits
from deltalog.errors import MalformedLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.storage import DataFile

AnyLine = TypeVar("AnyLine", bound=Line)
_LINES = msgspec.json.Decoder(Line)
# Between two actions more than a line break may stand.
_BLANK = b" \t\r\n"


def decode_commit(data: bytes, *, file: DataFile) -> list[Line]:
    """Return the lines of a JSON file of the log; MalformedLog names the line that is none."""
    return decode_lines(data, _LINES, file=file)


def decode_lines(data: bytes, decoder: msgspec.json.Decoder[AnyLine], *, file: DataFile) -> list[AnyLine]:
    """Return the same, with as much of each action as a decoder takes."""
    try:
        lines = decoder.decode_lines(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        lines = list(_one_by_one(data, decoder, file))
    for number, line in enumerate(lines, 1):
        complaint = _complaint(line)
        if complaint:
            raise MalformedLog(f"{file.path}, line {number}: {complaint}; restore the file from a copy")
    return lines


def _one_by_one(data: bytes, decoder: msgspec.json.Decoder[AnyLine], file: DataFile) -> Iterator[AnyLine]:
    texts = data.split(b"\n")
    last = max((number for number, text in enumerate(texts, 1) if text.strip(_BLANK)), default=0)
    for number, text in enumerate(texts, 1):
        if not text.strip(_BLANK):
            continue
        try:
            yield decoder.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError) as error:
            cut = number == last and not data.endswith(b"\n")
            what = "the file ends in the middle of an action" if cut else str(error) or "no JSON"
            raise MalformedLog(f"{file.path}, line {number}: {what}; restore the file from a copy") from None


def _complaint(line: Line) -> str:
    """Say what is wrong with an action, empty when nothing is."""
    for action in (line.add, line.remove):
        if action is not None:
            wrong = _wrong_file(action)
            if wrong:
                return wrong
    if line.protocol is not None and max(line.protocol.min_reader_version, line.protocol.min_writer_version) > 1 << 31:
        return "the protocol has a version beyond 32 bits"
    return ""


def _wrong_file(action: Add | Remove) -> str:
    if not action.path:
        return "a file without a path"
    if isinstance(action, Add) and not fits(action.size):
        return f"a file of {action.size} bytes"
    if isinstance(action, Add) and not -(1 << 63) <= action.modification_time < 1 << 63:
        return "a time of modification beyond 64 bits"
    return _wrong_vector(action.deletion_vector)


def _wrong_vector(vector: DeletionVector | None) -> str:
    if vector is None:
        return ""
    if vector.storage_type not in {"u", "p", "i"}:
        return f"a deletion vector of storage type {vector.storage_type!r}"
    if not fits(vector.cardinality) or not 0 <= vector.size_in_bytes < 1 << 31:
        return "a deletion vector of impossible size"
    if vector.offset is not None and not 0 <= vector.offset < 1 << 31:
        return "a deletion vector at an impossible offset"
    return ""
