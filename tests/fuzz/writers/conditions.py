"""Conditions on one column, with values that it holds and their neighbours, in the SQL of Spark and of DuckDB."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

FORMS = ("=", "=", "=", "<", "<=", ">", ">=", "<>", "BETWEEN", "IN", "IS NULL", "IS NOT NULL", "LIKE", "isnan", "<=>")
PAIRS = {"BETWEEN", "IN"}
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps are compared as local ones of UTC


@dataclass(frozen=True, slots=True)
class Condition:
    """`column`: its name in SQL; `type`: of its values in memory; `values`: the literals' values."""

    column: str
    type: pa.DataType
    form: str
    values: tuple[object, ...] = ()

    @property
    def spark(self) -> str:
        return self._written(self.column, spark_literal)

    @property
    def duckdb(self) -> str:
        name = ".".join(f'"{part}"' for part in self.column.split("."))
        return self._written(name, duckdb_literal).replace("<=>", "IS NOT DISTINCT FROM")

    def _written(self, name, literal):
        texts = [literal(value, self.type) for value in self.values]
        match self.form:
            case "BETWEEN":
                return f"{name} BETWEEN {texts[0]} AND {texts[1]}"
            case "IN":
                return f"{name} IN ({', '.join(texts)})"
            case "LIKE":
                return f"{name} LIKE '{self.values[0]}%'"
            case "isnan":
                return f"isnan({name})"
            case "IS NULL" | "IS NOT NULL":
                return f"{name} {self.form}"
        return f"{name} {self.form} {texts[0]}"

    def may_hold(self, low, high, nulls, rows):
        """Return SQL that is false for groups whose true bounds and null count rule out a match; names of columns."""
        texts = [duckdb_literal(value, self.type) for value in self.values]
        match self.form:
            case "=" | "<=>":
                return f"{low} <= {texts[0]} AND {high} >= {texts[0]}"
            case "<" | "<=":
                return f"{low} {self.form} {texts[0]}"
            case ">" | ">=":
                return f"{high} {self.form} {texts[0]}"
            case "<>":
                return f"NOT ({low} = {texts[0]} AND {high} = {texts[0]})"
            case "BETWEEN":
                return f"{low} <= {texts[1]} AND {high} >= {texts[0]} AND {texts[0]} <= {texts[1]}"
            case "IN":
                return " OR ".join(f"({low} <= {text} AND {high} >= {text})" for text in texts)
            case "IS NULL":
                return f"{nulls} > 0"
            case "IS NOT NULL":
                return f"{nulls} < {rows}"
        return "true"


def random_condition(chance, name, values, value_type):
    """Draw a condition on a column; None where the form has no meaning for its type. `values`: some of it, no nulls."""
    form = chance.choice(FORMS)
    if form in {"IS NULL", "IS NOT NULL"}:
        return Condition(name, value_type, form)
    if form == "isnan":
        return Condition(name, value_type, form) if pa.types.is_floating(value_type) else None
    known = [value for value in values if not (isinstance(value, float) and math.isnan(value))]
    if not known:
        return None
    if form == "LIKE":
        text = chance.choice(known)
        if not isinstance(text, str) or set(text) & set("%_\\'\0"):
            return None
        return Condition(name, value_type, form, (text[: chance.choice([1, 3, 8, 16, 20])],))
    drawn = [_drawn(chance, known, value_type) for _ in range(chance.choice([2, 3, 12]) if form == "IN" else 2)]
    if form == "BETWEEN":
        return Condition(name, value_type, form, tuple(sorted(drawn[:2])))
    return Condition(name, value_type, form, tuple(drawn) if form == "IN" else tuple(drawn[:1]))


def _drawn(chance, known, value_type):
    """Draw a value of the column, often one at its ends, sometimes a neighbour."""
    drawn = chance.choice([chance.choice(known), min(known), max(known)])
    return _neighbour(chance, drawn, value_type) if chance.random() < 0.25 else drawn


def _neighbour(chance, value, value_type):
    step = chance.choice([-1, 1])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + step
    if isinstance(value, float):
        return value + step
    if isinstance(value, Decimal):
        moved = int(value.scaleb(value_type.scale)) + step
        return Decimal(moved).scaleb(-value_type.scale) if abs(moved) < 10**value_type.precision else value
    if isinstance(value, str):
        return value + "a" if step > 0 else value[:-1]
    if isinstance(value, bytes):
        return value + b"\0" if step > 0 else value[:-1]
    if isinstance(value, dt.datetime):
        return value + dt.timedelta(microseconds=step)
    return value + dt.timedelta(days=step)


def _common_literal(value, value_type):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
        return f"CAST('{text}' AS {'DOUBLE' if pa.types.is_float64(value_type) else 'FLOAT'})"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(' ', 'microseconds')}'"
    return f"DATE '{value}'" if isinstance(value, dt.date) else str(value)


def spark_literal(value, value_type):
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value!r}{'D' if pa.types.is_float64(value_type) else 'F'}"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"X'{value.hex()}'" if isinstance(value, bytes) else _common_literal(value, value_type)


def duckdb_literal(value, value_type):
    if isinstance(value, Decimal):
        return f"CAST('{value:f}' AS DECIMAL({value_type.precision},{value_type.scale}))"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    return _common_literal(value, value_type)
