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
    numbers = [titles[name] for name in rows.column_names if _stays_whole(rows, name)]
    console.print(cells(list(titles.values()), ([_text(row[n]) for n in titles] for row in plain), numbers=numbers))
    console.print(counted(rows.num_rows, "row"), markup=False, highlight=False)


def _stays_whole(rows: pa.Table, name: str) -> bool:
    """Return True for numbers and times, which are printed on one line.

    Texts may wrap.
    """
    import pyarrow as pa

    kind = rows.schema.field(name).type
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind)
    )


def _text(value: object) -> str:
    text = "NULL" if value is None else printable(value if isinstance(value, str) else str(value))
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _plain(value: Any, zone: ZoneInfo | None) -> Any:
    match value:
        case dict():
            return {name: _plain(one, zone) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one, zone) for one in value]
        case dt.datetime():
            return (value if zone is None or value.tzinfo is None else value.astimezone(zone)).isoformat(sep=" ")
        case bytes():
            return value.hex()
    is_plain = (
        value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    )
    return value if is_plain else str(value)
