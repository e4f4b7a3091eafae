"""The files below a table's directory that its log names: live files, tombstones, their deletion vectors.

A path that stands for itself may lead into the table by another way than its own name (a link, another scheme), so that
whatever ends like it counts as named.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.log.deletion_vectors import Vector, vector_path
from deltalog.log.paths import canonical_path, is_absolute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltalog.log.full_actions import FullAdd, FullRemove
    from deltalog.maintenance.log_state import LogState

_HERE = "here"


class NamedFiles:
    """Paths below the table that a log names."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._endings: set[str] = set()

    def add(self, path: str) -> None:
        """Take a path as an action writes it, and what it becomes when it is decoded."""
        for spelling in {path, canonical_path(path)}:
            if is_absolute(spelling):
                parts = [part for part in spelling.split("/") if part]
                self._endings.update("/".join(parts[at:]) for at in range(len(parts)))
            else:
                self._paths.add(posixpath.normpath(spelling))

    def __contains__(self, path: str) -> bool:
        return path in self._paths or path in self._endings


def named_files(state: LogState, *, since: int | None = None) -> NamedFiles:
    """Return the files that a version names; of its tombstones those deleted after `since` (milliseconds), or all."""
    found = NamedFiles()
    actions: Iterable[FullAdd | FullRemove] = [*state.adds, *_young(state.removes, since)]
    for action in actions:
        _take(
            found, action.path, None if action.deletion_vector is None else msgspec.to_builtins(action.deletion_vector)
        )
    for stored in state.stored_actions(adds=("size",), removes=("deletionTimestamp",)):
        for rows in (stored.adds, _young_rows(stored.removes, since)):
            if rows is not None:
                for path, vector in _paths_and_vectors(rows):
                    _take(found, path, vector)
    return found


def _young(removes: Iterable[FullRemove], since: int | None) -> Iterator[FullRemove]:
    return (remove for remove in removes if since is None or (remove.deletion_timestamp or 0) >= since)


def _young_rows(rows: pa.StructArray | None, since: int | None) -> pa.StructArray | None:
    if rows is None or since is None:
        return rows
    number = rows.type.get_field_index("deletionTimestamp")
    if number < 0:
        return rows.slice(0, 0)
    times = pc.fill_null(pc.struct_field(rows, number).cast(pa.int64()), 0)
    return rows.filter(pc.greater_equal(times, pa.scalar(since, pa.int64())))


def _paths_and_vectors(rows: pa.StructArray) -> Iterator[tuple[str, dict[str, object] | None]]:
    paths = pc.struct_field(rows, "path").to_pylist()
    number = rows.type.get_field_index("deletionVector")
    if number < 0:
        return ((path, None) for path in paths)
    vectors = pc.struct_field(rows, number)
    return zip(paths, vectors.to_pylist() if vectors.null_count < len(vectors) else [None] * len(paths), strict=True)


def _take(found: NamedFiles, path: str, vector: dict[str, object] | None) -> None:
    found.add(path)
    if vector is None:
        return
    kind, place = str(vector.get("storageType")), str(vector.get("pathOrInlineDv"))
    if kind == "p":
        found.add(place)
    elif kind == "u":
        try:
            found.add(vector_path(Vector(kind, place, None, 0, 0), _HERE).removeprefix(f"{_HERE}/"))
        except ValueError:
            # It names no file that could be kept, and reading the table says so.
            return
