"""Rows of a table as JSON, and as a table for a terminal."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from parquet_core.printable import printable
from parquet_core.quantities import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

# Longer values are cut in a table.
_MOST_CHARACTERS = 40


def rows_as_json(rows: pa.Table, time_zone: str | None) -> list[dict[str, Any]]:
    """Return rows as JSON objects.

    Times with a zone are in `time_zone`, NaN and infinities are strings, bytes are hex.
    """
    zone = None if time_zone is None else ZoneInfo(time_zone)
    return [{name: _plain(value, zone) for name, value in row.items()} for row in rows.to_pylist()]


def print_rows(rows: pa.Table, time_zone: str | None, console: Console) -> None:
    """Print rows as a table that fits the width; omitted columns are named."""
    from prune_assets.report.inspection.cells import cells

    plain = rows_as_json(rows, time_zone)
    titles = {name: printable(name) for name in rows.column_names}
    numeric = [titles[name] for name in rows.column_names if _stays_whole(rows, name)]
    console.print(
        cells(list(titles.values()), ([_format_cell(row[n]) for n in titles] for row in plain), numeric=numeric)
    )
    console.print(counted(rows.num_rows, "row"), markup=False, highlight=False)


def _stays_whole(rows: pa.Table, name: str) -> bool:
    """Return True if values of a column are printed on one line: numbers and times. Texts may wrap."""
    import pyarrow as pa

    arrow_type = rows.schema.field(name).type
    return bool(
        pa.types.is_integer(arrow_type)
        or pa.types.is_floating(arrow_type)
        or pa.types.is_decimal(arrow_type)
        or pa.types.is_temporal(arrow_type)
    )


def _format_cell(value: object) -> str:
    cell = "NULL" if value is None else printable(value if isinstance(value, str) else str(value))
    return cell if len(cell) <= _MOST_CHARACTERS else f"{cell[: _MOST_CHARACTERS - 1]}…"


def _plain(value: Any, zone: ZoneInfo | None) -> Any:
    match value:
        case dict():
            return {name: _plain(element, zone) for name, element in value.items()}
        case list() | tuple():
            return [_plain(element, zone) for element in value]
        case dt.datetime():
            return (value if zone is None or value.tzinfo is None else value.astimezone(zone)).isoformat(sep=" ")
        case bytes():
            return value.hex()
    is_plain = (
        value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    )
    return value if is_plain else str(value)
