"""Rows of a table as JSON, and as a table for a terminal."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from parquet_core.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

# Of a value more is cut, in a table.
_MOST_CHARACTERS = 40
# Between two columns of a table.
_GAP = 3


def rows_as_json(rows: pa.Table, time_zone: str | None) -> list[dict[str, Any]]:
    """Return rows as objects: times with a zone in `time_zone`, NaN and the infinities as texts, bytes in hex."""
    zone = None if time_zone is None else ZoneInfo(time_zone)
    return [{name: _plain(value, zone) for name, value in row.items()} for row in rows.to_pylist()]


def print_rows(rows: pa.Table, time_zone: str | None, console: Console) -> None:
    """Print rows as a table of the columns that fit, and a line that tells what is left out."""
    from rich.table import Table

    texts = {name: [_text(row[name]) for row in rows_as_json(rows, time_zone)] for name in rows.column_names}
    shown = _that_fit(texts, console.width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for name in shown:
        table.add_column(printable(name), no_wrap=True, justify="right" if _is_number(rows, name) else "left")
    for values in zip(*(texts[name] for name in shown), strict=True):
        table.add_row(*values)
    console.print(table, markup=False)
    left_out = rows.num_columns - len(shown)
    columns = f", {left_out} of {rows.num_columns} columns do not fit: name some with --columns" if left_out else ""
    console.print(
        f"{rows.num_rows:,} row{'s' * (rows.num_rows != 1)}{columns}", markup=False, highlight=False, soft_wrap=True
    )


def _that_fit(texts: dict[str, list[str]], width: int) -> list[str]:
    shown: list[str] = []
    for name, values in texts.items():
        width -= max(map(len, [printable(name), *values])) + _GAP
        if width + _GAP < 0 and shown:
            break
        shown.append(name)
    return shown


def _is_number(rows: pa.Table, name: str) -> bool:
    import pyarrow as pa

    kind = rows.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


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
