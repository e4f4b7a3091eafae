"""What changes in a Delta table when its rows do: its version, and the live files of each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.storage import address
from prune_assets.tables.same_partitions import partition_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


def version_fingerprint(table: str) -> str:
    """Return the latest version, in words."""
    import deltalog

    return f"version {deltalog.versions(address(table))[-1]}"


def version_history(table: str, limit: int) -> list[tuple[int, int | None, dict[str, Any]]]:
    """Return the number, the time and the commit information of the latest versions."""
    import deltalog

    commits = deltalog.history(deltalog.open_snapshot(address(table)), limit=limit)
    return [(commit.version, commit.timestamp, commit.info) for commit in commits]


def partition_files(table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Yield the values that the log gives each live file, and its path and deletion vector."""
    import deltalog
    from deltalog.log.file_block import empty_codes

    snapshot = deltalog.open_snapshot(address(table))
    of_path = snapshot.schema.by_path().items()
    known = {path[0]: column.partition for path, column in of_path if column.partition is not None}
    names = [partition_named(column, known) for column in columns]
    for block in snapshot.blocks:
        parts = []
        for name in names:
            texts = block.partition.get(known[name], empty_codes(len(block)))
            values = texts.values.to_pylist()
            parts.append([values[code] if code >= 0 else None for code in texts.codes.tolist()])
        vectors = [None] * len(block) if block.vectors is None else block.vectors.to_pylist()
        for path, vector, *of_file in zip(block.path.to_pylist(), vectors, *parts, strict=True):
            yield tuple(of_file), f"{path}\0{vector}"
