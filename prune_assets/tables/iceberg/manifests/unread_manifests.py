"""Estimate rows and bytes of files in unread manifests, for reports: known totals are spread over the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

    Numbers = NDArray[np.int64]


def totals_of(snapshot: IcebergSnapshot) -> tuple[Numbers, Numbers]:
    """Return rows and bytes of each file; reads the remaining manifests if the totals are unknown."""
    files = snapshot.files
    unread = np.flatnonzero(~files.opened).tolist()
    left = 0 if not unread else _bytes_left(snapshot, unread)
    if left is None:
        files, unread, left = snapshot.open_all(), [], 0
    rows, sizes = np.maximum(files.numbers("records", 1), 1), files.numbers("sizes", 0)
    for i in unread:
        file_range = slice(int(files.first[i]), int(files.first[i + 1]))
        rows[file_range] = np.maximum(_spread_evenly(files.listed[i].rows or 0, file_range.stop - file_range.start), 1)
    unknown = ~files.has_entry
    sizes[unknown] = _spread_evenly(left, int(unknown.sum()))
    return rows, sizes


def _bytes_left(snapshot: IcebergSnapshot, unread: list[int]) -> int | None:
    """Return the total bytes of files in unread manifests; None if the bytes or rows are unknown."""
    files, listed = snapshot.files, snapshot.files.listed
    summary = None if snapshot.snapshot is None else snapshot.snapshot.summary
    total_size = "" if summary is None else str(summary.get("total-files-size") or "")
    # With deletes, the total includes the delete files.
    if not total_size.isdecimal() or snapshot.deletes or any(listed[i].rows is None for i in unread):
        return None
    left = int(total_size) - int(files.numbers("sizes", 0).sum())
    return left if int((~files.has_entry).sum()) <= left < 1 << 62 else None


def _spread_evenly(total: int, count: int) -> Numbers:
    shares = np.full(count, total // max(count, 1), np.int64)
    shares[: total - int(shares.sum())] += 1
    return shares
