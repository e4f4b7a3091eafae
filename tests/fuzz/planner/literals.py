"""Literals of Spark SQL: values of a column, next to them, at the ends of the type, and of other types."""

from __future__ import annotations

import datetime as dt
import math

from .kinds import KINDS, neighbour, odd_value, plain_value

ODD_NUMBERS = ["2.5", "-0.001", "3000000000", "99999", "12345678901234567890", "0.06 - 0.01", "1 + 1", "-(3)", "1e3"]
ODD_NUMBERS += ["-9223372036854775808", "9223372036854775808", "18446744073709551616", "5Y", "5S", "5L", "1.50BD"]
ODD_FLOATS = ["0", "1", "-1.5", "0.1", "0.1D", "0.1F", "-0.0D", "1e300", "3000000000", "16777217", "0.3BD", "1e-50"]
ODD_FLOATS += ["double('NaN')", "float('Infinity')", "double('-inf')", "3.4028234663852886E38F", "0.3"]
ODD_DATES = ["'1994-01-05'", "date '1994-01-31' + interval '1' month", "DATE '0001-01-01'", "DATE '9999-12-31'"]
PARTITION_LITERALS = {
    "num": ["1", "2", "-3", "2.5", "40"],
    "big": ["1", "3000000000", "99999999999999999999", "5"],
    "day": ["DATE '1994-01-05'", "'1994-01-20'", "DATE '2000-01-01'"],
    "mix": ["'10'", "'9'", "'1994-01-05'", "'y'"],
    "txt": ["'a/b'", "'a b'", "'\u00e9'", "'zz'", "'%'"],
    "odd": ["1", "1.5", "2"],
}


def literal(draw, column):
    """Return a literal to compare a column with; most are of its type and near its values."""
    kind = column.of
    if kind.is_number and draw.random() < 0.12:
        return draw.choice(ODD_NUMBERS)
    if kind.family == "float" and draw.random() < 0.2:
        return draw.choice(ODD_FLOATS)
    if kind.family == "date" and draw.random() < 0.1:
        return draw.choice(ODD_DATES)
    if kind.family == "timestamp" and draw.random() < 0.2:
        return f"TIMESTAMP '{_moment(kind, value_near(draw, column))}'"  # in the zone of the session
    return spelled(draw, kind, value_near(draw, column))


def value_near(draw, column):
    """Draw a value of the column, a value near one, or any value of its type."""
    known = column.values[draw.randrange(len(column.values))]
    chosen = draw.random()
    if known is None or chosen < 0.1:
        return odd_value(draw, column.of) if draw.random() < 0.4 else plain_value(draw, column.of, 60)
    return known if chosen < 0.7 else neighbour(draw, column.of, known)


def spelled(draw, kind, value):
    """Spell a stored value as Spark SQL of its type."""
    match kind.family:
        case "integer":
            return str(value)
        case "decimal":
            return _decimal(value, kind.arrow.scale)
        case "boolean":
            return str(value).lower()
        case "string":
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case "binary":
            return f"X'{value.hex()}'"
        case "date":
            return f"DATE '{_EPOCH.date() + dt.timedelta(_between(value, 'date'))}'"
        case "timestamp":
            return f"TIMESTAMP '{_moment(kind, value)}Z'"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{_moment(kind, value)}'"
    return _float(kind, value)


_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of both kinds of timestamps


def _between(value, name):
    return min(max(value, KINDS[name].low), KINDS[name].high)


def _decimal(value, scale):
    digits = f"{abs(value):0{scale + 1}d}"
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if value < 0 else text


def _moment(kind, value):
    micros = {"ms": value * 1000, "us": value, "ns": value // 1000}[kind.arrow.unit]
    return _EPOCH + dt.timedelta(microseconds=_between(micros, "ts_us"))


def _float(kind, value):
    if not math.isfinite(value):
        return f"{'float' if kind.name == 'f32' else 'double'}('{value}')"
    if kind.name == "f32":
        return f"float('{value!r}')" if value and abs(value) < 1e-30 else f"{value!r}F"
    return f"{value!r}D"
