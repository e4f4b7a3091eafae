"""Random joins: rows of keys for columns of a table, of the table's types and of other types."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from planner.kinds import KINDS, odd_value, plain_value
from planner.tables import ROW, stored_array

KEY = "key_number"  # tells rows of the keys apart
HOWS = ["inner", "inner", "semi", "right"]

_NUMBERS = ["i8", "i16", "i32", "i64", "u8", "u32", "u64", "d4_2", "d9_0", "d15_2", "d20_4", "d38_10", "d38_30"]
_TIMES = ["date", "ts_us", "ts_ms", "ntz_us", "ntz_ms"]
# Kinds of keys that Spark compares with a column.
COMPARED = {
    "integer": [*_NUMBERS, "d38_38", "f32", "f64", "str"],
    "decimal": [*_NUMBERS, "d18_18", "d38_38", "f64", "str"],
    "float": ["f32", "f32", "f64", "f64", "i8", "i16", "i32", "i64", "d15_2", "str"],
    "boolean": ["bool", "str"],
    "date": [*_TIMES, "str"],
    "timestamp": [*_TIMES, "str"],
    "string": ["str", "str", "str", "date", "i32", "f64"],
    "binary": ["bin", "bin", "str"],
}
# Forms in which Arrow has the same values.
FORMS = {
    "str": [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    "bin": [pa.large_binary(), pa.dictionary(pa.int8(), pa.binary())],
    "date": [pa.date64()],
    "ts_us": [pa.timestamp("us", "America/New_York"), pa.timestamp("ns", "UTC")],
    "ntz_us": [pa.timestamp("ns")],
    "ts_ms": [pa.timestamp("s", "Asia/Kolkata"), pa.timestamp("us", "UTC")],
    "i64": [pa.dictionary(pa.int8(), pa.int64())],
    "d15_2": [pa.decimal256(15, 2), pa.dictionary(pa.int16(), pa.decimal128(15, 2))],
}


@dataclass(frozen=True)
class Pair:
    """A column of the table, as a path, and the column of the keys that it is compared with."""

    path: tuple[str, ...]
    key: str
    kind: str
    null_safe: bool

    @property
    def condition(self):
        column = ".".join(f"`{part}`" for part in ("t", *self.path))
        return f"{column} {'<=>' if self.null_safe else '='} `s`.`{self.key}`"


@dataclass(frozen=True, eq=False)
class Case:
    """One join. `keys`: Arrow rows of a user; `plain`: the same rows in types that Spark has."""

    pairs: tuple[Pair, ...]
    how: str
    keys: pa.Table
    plain: pa.Table
    as_frame: bool

    @property
    def condition(self):
        return " AND ".join(pair.condition for pair in self.pairs)

    @property
    def on(self):
        return [(".".join(pair.path), pair.key, pair.null_safe) for pair in self.pairs]

    @property
    def ddl(self):
        return ", ".join([*(f"`{pair.key}` {KINDS[pair.kind].spark}" for pair in self.pairs), f"{KEY} bigint"])

    @property
    def text(self):
        types = ", ".join(str(field.type) for field in self.keys.schema)
        return f"{self.how} join ON {self.condition}; keys of {types}; {self.plain.to_pylist()}"


def columns_of(rows: pa.Table):
    """Return the leaf columns of a table whose values a join can compare, by path."""
    columns = {}
    for name in rows.column_names:
        _add((name,), rows[name].combine_chunks(), columns)
    columns.pop((ROW,), None)
    return columns


def _add(path, values, columns):
    if pa.types.is_struct(values.type):
        for field, child in zip(values.type, values.flatten(), strict=True):
            _add((*path, field.name), child, columns)
    elif family_of(values.type) is not None and not any("." in part or "`" in part for part in path):
        columns[path] = values


def family_of(arrow_type):
    """Return the family of a type, None if no join compares it."""
    types = pa.types
    tests = {
        "integer": types.is_integer,
        "decimal": types.is_decimal,
        "float": types.is_floating,
        "boolean": types.is_boolean,
        "date": types.is_date,
        "timestamp": types.is_timestamp,
        "string": types.is_string,
        "binary": types.is_binary,
    }
    return next((family for family, test in tests.items() if test(arrow_type)), None)


def random_case(draw, columns):
    """Draw a join with one to three columns, whose keys are mostly values of a few rows of the table."""
    paths = draw.sample(sorted(columns), min(len(columns), draw.choice([1, 1, 1, 2, 2, 3])))
    count = len(columns[paths[0]])
    start, width = draw.randrange(count), draw.choice([1, 3, 10, 60])
    taken = [draw.randrange(start, min(start + width, count)) for _ in range(draw.choice([0, 1, 2, 5, 20]))]
    pairs, own, plain = [], {}, {}
    for i, path in enumerate(paths):
        family = family_of(columns[path].type)
        kind = draw.choice(COMPARED[family])
        if draw.random() < 0.5:
            kind = _same_kind(columns[path].type) or kind
        pair = Pair(path, draw.choice(["k", "key ", "K\u00e9y", "long"]) + str(i), kind, draw.random() < 0.1)
        values = _keys(draw, columns[path], taken, KINDS[kind])
        pairs.append(pair)
        plain[pair.key] = values.cast(_in_spark(KINDS[kind]))
        own[pair.key] = _in_other_form(draw, kind, values)
    number = pa.array(range(len(taken)), pa.int64())
    as_frame = draw.random() < 0.4
    plain, own = pa.table({**plain, KEY: number}), pa.table({**own, KEY: number})
    return Case(tuple(pairs), draw.choice(HOWS), own, plain, as_frame)


def _same_kind(arrow_type):
    return next((name for name, kind in KINDS.items() if _in_spark(kind) == arrow_type and name != "u64"), None)


def _in_spark(kind):
    """Return the Arrow type of the type that Spark reads."""
    if kind.name.startswith("u"):
        return {"u8": pa.int16(), "u16": pa.int32(), "u32": pa.int64(), "u64": pa.decimal128(20, 0)}[kind.name]
    if pa.types.is_timestamp(kind.arrow):
        return pa.timestamp("us", kind.arrow.tz)
    return kind.arrow


def _keys(draw, column, rows, kind):
    """Return keys: the values of these rows where the type has them, others, and nulls."""
    others = draw.choice([0, 0.1, 0.5])
    keys = []
    for row in rows:
        value = _cast(column.slice(row, 1), kind.arrow) if draw.random() >= others else None
        if value is None and draw.random() < 0.8:
            drawn = odd_value(draw, kind) if draw.random() < 0.3 else plain_value(draw, kind, 60)
            value = stored_array([drawn], kind, kind)
        keys.append(pa.nulls(1, kind.arrow) if value is None else value)
    return pa.concat_arrays(keys) if keys else pa.array([], kind.arrow)


def _cast(value, arrow_type):
    try:
        return value.cast(arrow_type)
    except pa.ArrowInvalid:
        return _cut(value, arrow_type)
    except pa.ArrowNotImplementedError:
        return None


def _cut(value, arrow_type):
    """Return a value near one that the type does not have, if Arrow has a cast that loses digits."""
    try:
        cut = value.cast(arrow_type, safe=False)
        cut.validate(full=True)  # a decimal may have too many digits
    except pa.ArrowException:
        return None
    return cut


def _in_other_form(draw, kind, values):
    if kind not in FORMS or draw.random() < 0.5:
        return values
    form = draw.choice(FORMS[kind])
    try:
        if pa.types.is_dictionary(form):
            return values.dictionary_encode().cast(form)
        return values.cast(form)
    except pa.ArrowInvalid:
        return values
