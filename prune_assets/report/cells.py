"""The cells of the map: what a row group, or a run of them, looks like and says when pointed at."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from parquet_core.printable import printable
from prune_assets.report.file_names import short_path
from prune_assets.report.quantities import bytes_text, clipped
from prune_assets.report.wording import level_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prune_assets.report.row_groups import PlacedRowGroup
    from prune_assets.report.skip_report import MapCell

KEPT = "kept"
MATCHED = "matched"
OTHER = "other"
_LONGEST_PATH = 60
_LONGEST_REASON = 240

Spans: TypeAlias = tuple[tuple[int, int], ...]


class Cell(NamedTuple):
    """A rectangle of `resolution` units: for each colour class, painted in this order, the spans that have it."""

    title: str
    resolution: int
    colours: tuple[tuple[str, Spans], ...]


def row_group_cell(item: PlacedRowGroup, table: str, colours: Mapping[str, str], resolution: int) -> Cell:
    """Paint one row group: its level's colour, over it the rows that are read, over these the proven matches."""
    group, whole = item.row_group, ((0, resolution),)
    painted: list[tuple[str, Spans]] = []
    if group.verdict != "scan":
        painted.append((colours.get(group.level, OTHER), whole))
    if group.verdict != "skip":
        ranges = whole if group.verdict == "scan" else spans(group.ranges, group.row_count, resolution)
        painted.append((KEPT, ranges))
        painted.append((MATCHED, spans(group.matches, group.row_count, resolution)))
    return Cell(_title(item, table), resolution, tuple(entry for entry in painted if entry[1]))


def bin_cell(cell: MapCell, table: str, colours: Mapping[str, str], resolution: int) -> Cell:
    """Paint a run of row groups as one cell, split by bytes: what is read first, then level after level.

    `colours` has the levels in the order of `cell.skipped_bytes`.
    """
    parts = [(KEPT, cell.kept_bytes), *zip(colours.values(), cell.skipped_bytes, strict=True)]
    known = sum(size for _, size in parts)
    parts.append((OTHER, cell.bytes - known))
    return Cell(_bin_title(cell, table, list(colours)), resolution, _split(parts, resolution))


def spans(ranges: Iterable[tuple[int, int]], row_count: int, resolution: int) -> Spans:
    """Scale row ranges to units, outwards, so that not a row that is read goes unseen.

    >>> spans([(0, 1), (500, 510), (990, 1000)], 1000, 20)
    ((0, 1), (10, 11), (19, 20))
    """
    if row_count == 0:
        return ()
    found: list[tuple[int, int]] = []
    for first, last in ranges:
        start, stop = first * resolution // row_count, -(-last * resolution // row_count)
        if found and found[-1][1] >= start:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif stop > start:
            found.append((start, stop))
    return tuple(found)


def _split(parts: Sequence[tuple[str, int]], resolution: int) -> tuple[tuple[str, Spans], ...]:
    total = sum(size for _, size in parts)
    if total == 0:
        return ((OTHER, ((0, resolution),)),)
    # Cut points are rounded up: the first part, what is read, is seen however small it is.
    cuts = [-(-done * resolution // total) for done in accumulate((size for _, size in parts), initial=0)]
    return tuple((colour, (cut,)) for (colour, _), cut in zip(parts, pairwise(cuts), strict=True) if cut[1] > cut[0])


def _title(item: PlacedRowGroup, table: str) -> str:
    group = item.row_group
    rows = f"{item.kept_rows:,} of {group.row_count:,} rows"
    size = f"{bytes_text(group.kept_bytes)} of {bytes_text(group.bytes)}"
    lines = [_place(item.path, group.index, table), f"{group.verdict}: reads {rows}, {size}"]
    if group.level:
        lines.append(f"by {level_title(group.level)}")
    if group.reason:
        lines.append(printable(clipped(group.reason, _LONGEST_REASON)))
    return "\n".join(lines)


def _bin_title(cell: MapCell, table: str, levels: Sequence[str]) -> str:
    skipped = zip(levels, cell.skipped_bytes, strict=True)
    lines = [
        f"{cell.row_groups:,} row groups, {cell.kept_row_groups:,} read",
        f"from {_place(cell.first_file, cell.first_row_group, table)}",
        f"to {_place(cell.last_file, cell.last_row_group, table)}",
        f"reads {bytes_text(cell.kept_bytes)} of {bytes_text(cell.bytes)}",
        *(f"{level_title(level)} skips {bytes_text(size)}" for level, size in skipped if size),
    ]
    return "\n".join(lines)


def _place(path: str, row_group: int, table: str) -> str:
    name = printable(short_path(path, table, _LONGEST_PATH))
    return f"{name} (not opened)" if row_group < 0 else f"{name} row group {row_group}"
