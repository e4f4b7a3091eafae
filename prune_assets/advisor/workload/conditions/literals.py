"""Convert constants that Spark prints to SQL literals of the column's type."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa

from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.sql.render import literal_sql

WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DECIMAL = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:E[+-]?[0-9]{1,2})?")
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+(?:E-?[0-9]{1,3})?")
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(rf"{_DATE.pattern} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]{{1,6}})?")
_BYTES = re.compile(r"0x((?:[0-9A-Fa-f]{2})*)")
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])([0-9]{1,2}):?([0-9]{2})?")
# Text that could belong to the condition or separate its list, rather than be part of a constant.
_SUSPECT = re.compile(
    r"[\x00-\x1f\x7f\u0085\u2028\u2029]|#[0-9]| (?:AND|OR|IN|INSET|LIKE|ESCAPE) |^NOT |\.\.\. [0-9]+ more"
)
_AMBIGUOUS = "ambiguous text"


def is_string(spark_type: str | None) -> bool:
    """Return True for a string type, including CHAR, VARCHAR and strings with a collation."""
    return spark_type is not None and spark_type.startswith(("string", "char(", "varchar("))


def literal(text: str, spark_type: str | None, zone: str | None, *, exact: bool = False) -> str:
    r"""Convert a constant from the text of a Spark plan to a SQL literal.

    `spark_type`: Spark's name of the column's type. None if unknown: the literal is then a string, which Spark converts
    to the column's type in a comparison.
    `zone`: time zone of printed timestamps.
    `exact`: True if the plan proves that the text is one constant.

    >>> literal("O'Brien", "string", None), literal("2024-01-05", "date", None), literal("1.50", "decimal(12,2)", None)
    ("'O\\'Brien'", "DATE '2024-01-05'", '1.50')
    >>> literal("2024-07-01 12:00:00", "timestamp", "Europe/Berlin")
    "TIMESTAMP '2024-07-01 10:00:00Z'"

    Raises NotUnderstood if the text is not a literal of the type, or could be more than one constant.
    """
    if spark_type is None or is_string(spark_type):
        return _string(text, is_known=spark_type is not None, exact=exact)
    if text == "null":
        return "NULL"
    written = _literal_of_type(text, spark_type, zone)
    if written is None:
        raise NotUnderstood(f"a constant of type {spark_type.partition('<')[0].partition('(')[0]}")
    return written


def _string(text: str, *, is_known: bool, exact: bool) -> str:
    if not exact and (_SUSPECT.search(text) or not _is_balanced(text)):
        raise NotUnderstood(_AMBIGUOUS)
    if not is_known and (_TIMESTAMP.fullmatch(text) or _BYTES.fullmatch(text) or text in {"null", ""}):
        raise NotUnderstood("the type of the column is unknown")
    return literal_sql(pa.scalar(text))


def _is_balanced(text: str) -> bool:
    """Return True if the brackets in `text` are balanced, so that they do not affect brackets around the constant."""
    depth = 0
    for bracket in re.findall(r"[()]", text):
        depth += 1 if bracket == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def _literal_of_type(text: str, spark_type: str, zone: str | None) -> str | None:
    written = None
    if spark_type in WHOLE:
        written = text if _WHOLE.fullmatch(text) else None
    elif spark_type.startswith("decimal("):
        written = format(Decimal(text), "f") if _DECIMAL.fullmatch(text) else None
    elif spark_type in {"double", "float"} and text in _NOT_FINITE:
        written = f"{spark_type}('{text}')"
    elif spark_type in {"double", "float"} and _FLOAT.fullmatch(text):
        written = f"{text}{'D' if spark_type == 'double' else 'F'}"
    elif spark_type == "boolean":
        written = text.upper() if text in {"true", "false"} else None
    elif spark_type == "binary":
        written = f"X'{match[1].upper()}'" if (match := _BYTES.fullmatch(text)) else None
    elif spark_type == "date":
        written = f"DATE '{text}'" if _DATE.fullmatch(text) else None
    elif spark_type == "timestamp_ntz":
        written = f"TIMESTAMP_NTZ '{text}'" if _TIMESTAMP.fullmatch(text) else None
    elif spark_type == "timestamp":
        written = _timestamp(text, zone) if _TIMESTAMP.fullmatch(text) else None
    return written


def _timestamp(text: str, zone: str | None) -> str:
    """Convert a local time of the session to a literal in UTC.

    Raises NotUnderstood for times that a clock change repeats.
    """
    rules = None if zone is None else _rules(zone)
    if rules is None:
        raise NotUnderstood("the session time zone is unknown")
    try:
        local = dt.datetime.fromisoformat(text)
        first, second = (local.replace(tzinfo=rules, fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    except (ValueError, OverflowError):
        raise NotUnderstood("a constant of type timestamp") from None
    if first != second:
        raise NotUnderstood("a local time in the hour when clocks change")
    return f"TIMESTAMP '{first.replace(tzinfo=None).isoformat(sep=' ')}Z'"


@lru_cache(64)
def _rules(zone: str) -> dt.tzinfo | None:
    if zone in {"Z", "UTC", "GMT"}:
        return dt.UTC
    if match := _OFFSET.fullmatch(zone):
        offset = dt.timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return dt.timezone(-offset if match[1] == "-" else offset) if offset < dt.timedelta(hours=24) else None
    try:
        return ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        return None


def literals(text: str, separator: str, spark_type: str | None, zone: str | None, *, exact: bool = False) -> list[str]:
    """Return the constants of a printed list.

    Raises NotUnderstood for a list of strings if one contains the separator next to a blank or at an end. In a list of
    at most ten strings, a string with a comma inside a word cannot be distinguished from two strings.
    """
    parts = text.split(separator)
    if spark_type is None or is_string(spark_type):
        loose = any(part != part.strip() or part in {"", "null"} for part in parts)
        # Spark sorts a list of more than ten constants by their printed text.
        if loose or len({*parts}) < len(parts) or (separator == ", " and not _is_sorted(parts)):
            raise NotUnderstood(_AMBIGUOUS)
    return [literal(part, spark_type, zone, exact=exact) for part in parts]


def _is_sorted(parts: list[str]) -> bool:
    units = [part.encode("utf-16-be", "surrogatepass") for part in parts]
    return units == sorted(units)
