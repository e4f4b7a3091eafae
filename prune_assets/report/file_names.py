"""Paths of data files, short enough for a line and still told apart."""

from __future__ import annotations

_SHORTEST_TAIL = 8


def short_path(path: str, table: str, limit: int) -> str:
    """Name a file as seen from its table, shortened in the middle to `limit` characters.

    >>> short_path("s3://lake/orders/day=1/part-0.parquet", "s3://lake/orders/", 40)
    'day=1/part-0.parquet'
    >>> short_path("s3://bucket/a/very/long/way/part-00001.parquet", "s3://lake", 32)
    's3://bucket/…/part-00001.parquet'
    """
    root = table.rstrip("/") + "/"
    name = path.removeprefix(root) if len(root) > 1 else path
    return name if len(name) <= limit else _without_middle(name, limit)


def _without_middle(name: str, limit: int) -> str:
    tail = name[-max(limit * 2 // 3, _SHORTEST_TAIL) :]
    cut = tail.find("/")
    tail = tail[cut:] if cut >= 0 else tail
    return f"{name[: max(limit - len(tail) - 1, 0)]}…{tail}"
