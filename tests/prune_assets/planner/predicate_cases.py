"""Random tables and predicates with their expected results, row by row."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import (
    And,
    Compare,
    CompareColumns,
    Constant,
    Contains,
    EndsWith,
    In,
    Interval,
    IsNaN,
    IsNull,
    IsTruth,
    Like,
    Not,
    Op,
    Or,
    StartsWith,
    Unsupported,
    Wildcard,
)

PYTHON = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
# By dotted path: every part but the last is a struct.
TYPES = {
    "key": pa.int64(),
    "day": pa.date32(),
    "price": pa.decimal128(15, 2),
    "wide": pa.decimal128(30, 4),
    "word": pa.string(),
    "small": pa.int16(),
    # Few values in each part of the table, including the smallest and the largest, so that only dictionaries exclude
    # others.
    "code": pa.string(),
    "grade": pa.int32(),
    "flag": pa.bool_(),
    "ratio": pa.float64(),
    "real": pa.float32(),
    "blob": pa.binary(),
    "point.x": pa.int64(),
    "point.at.ratio": pa.float64(),
    "point.at.flag": pa.bool_(),
}
FEW = {"code": ["", *(f"c{i:02}" for i in range(12)), "zz\u00e9"], "grade": list(range(-7, 8))}
TEXTS = ("word", "code", "blob")
WILDCARDS = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
TRUTHS = {Outcomes.TRUE: True, Outcomes.FALSE: False, Outcomes.NULL: None}
FLOATS = [name for name, arrow_type in TYPES.items() if pa.types.is_floating(arrow_type)]
# No writer writes useful bloom filters for booleans.
BLOOMS = [name for name, arrow_type in TYPES.items() if not pa.types.is_boolean(arrow_type)]
ODD_FLOATS = [math.nan, math.nan, 0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324, 1.7976931348623157e308, 0.1]
ODD_REALS = [math.nan, math.nan, 0.0, -0.0, math.inf, -math.inf, 2.0**-149, -(2.0**-149), (2 - 2.0**-23) * 2.0**127]


# Columns of comparable types.
ALIKE = [["key", "small", "grade", "point.x"], ["ratio", "real", "point.at.ratio"], ["word", "code"]]
ALIKE += [["flag", "point.at.flag"], ["key", "small", "price", "wide", "ratio", "real"]]


def as_doubles(values):
    """Cast numbers as Spark does where one of them is a float."""
    return tuple(map(float, values)) if any(isinstance(value, float) for value in values) else values


def path_of(name):
    return tuple(name.split("."))


def random_value(chance, name, odd=0.3):
    """Draw a value; `odd` is the share of zeros, infinities, NaN and extremes among floats."""
    if name in FEW:
        return chance.choice(FEW[name])
    number = chance.randint(0, 60)
    match name:
        case "day":
            return dt.date(1994, 1, 1) + dt.timedelta(number)
        case "price" | "wide":
            return Decimal(number - 30).scaleb(-TYPES[name].scale)
        case "word":
            # Beyond 64 bytes a writer may cut the bounds; "\U0010ffff" cannot be incremented when it does.
            return chance.choice(["", "p" * 70, "\U0010ffff" * 20, "é"]) + str(number)
        case "blob":
            return chance.choice([b"", b"p" * 70, b"\xff" * 70, b"\x80", b"\x7f"]) + bytes([number] * (number % 3))
        case "flag" | "point.at.flag":
            return number > 30
        case "ratio" | "point.at.ratio":
            return chance.choice(ODD_FLOATS) if chance.random() < odd else (number - 30) / 10
        case "real":
            return chance.choice(ODD_REALS) if chance.random() < odd else float(np.float32((number - 30) / 10))
        case _:
            return number - 30


def comparable(value):
    """Order values as Spark does: strings by their bytes, NaN equal to itself and above all else."""
    if isinstance(value, float):
        return math.isnan(value), 0.0 if math.isnan(value) else value
    return value.encode() if isinstance(value, str) else value


def random_table(chance, rows=400):
    """Columns sorted together or shuffled, with nulls in runs and alone."""
    columns = {}
    for name in TYPES:
        odd = chance.choice([0, 0.01, 0.3])
        drawn = [random_value(chance, name, odd) for _ in range(rows)]
        values = few_values(chance, name, rows) if name in FEW else drawn
        if chance.random() < 0.5 and name not in FEW:
            values.sort(key=comparable)
        columns[name] = with_nulls(chance, values)
    points = zip(
        *(columns.pop(name) for name in ("point.x", "point.at.ratio", "point.at.flag")),
        with_nulls(chance, [True] * rows),
        with_nulls(chance, [True] * rows),
        strict=True,
    )
    columns["point"] = [
        {"x": x, "at": {"ratio": ratio, "flag": flag} if inside else None} if outside else None
        for x, ratio, flag, inside, outside in points
    ]
    at = pa.struct({"ratio": pa.float64(), "flag": pa.bool_()})
    types = TYPES | {"point": pa.struct({"x": pa.int64(), "at": at})}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def with_nulls(chance, values):
    share = chance.choice([0, 0, 0.1, 0.9])
    values = [None if chance.random() < share else value for value in values]
    start, length = chance.randrange(len(values)), chance.choice([0, 0, 120])
    values[start : start + length] = [None] * len(values[start : start + length])
    return values


def few_values(chance, name, rows):
    """Draw values from the ends and a few values between them, with a new choice for every 50 rows."""
    values = []
    while len(values) < rows:
        drawn = chance.sample(FEW[name], chance.choice([0, 1, 3]))
        ends = [FEW[name][0], FEW[name][-1]] if chance.random() < 0.8 or not drawn else []
        values += [chance.choice([*ends, *drawn]) for _ in range(50)]
    return values[:rows]


def write_by_pyarrow(chance, table, directory):
    """Cut the table into files, row groups and pages at random; bloom filters on some columns."""
    directory.mkdir()
    cut = chance.randrange(1, table.num_rows)
    for i, part in enumerate((table.slice(0, cut), table.slice(cut))):
        pq.write_table(
            with_required_columns(chance, part),
            directory / f"part-{i}.parquet",
            row_group_size=chance.choice([50, 100, 400]),
            max_rows_per_page=chance.choice([7, 20, 50]),
            write_batch_size=1,
            write_page_index=chance.random() < 0.9,
            write_statistics=chance.random() < 0.9,
            bloom_filter_options={name: {"ndv": 64} for name in BLOOMS if chance.random() < 0.6},
            use_dictionary=chance.choice([True, False, list(FEW), list(FEW), ["code", "day"]]),
            dictionary_pagesize_limit=chance.choice([1 << 20, 1 << 20, 30]),
            compression=chance.choice(["none", "snappy", "zstd"]),
            store_decimal_as_integer=chance.random() < 0.5,
        )


def with_required_columns(chance, table):
    """Declare some of the columns that hold no null here as required: another file may do otherwise."""
    fields = [
        field.with_nullable(table.column(field.name).null_count > 0 or chance.random() < 0.5) for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def random_leaf(chance):
    if chance.random() < 0.1:
        left, right = (path_of(name) for name in chance.choices(chance.choice(ALIKE), k=2))
        return CompareColumns(left, chance.choice([*Op]), right)
    name = chance.choice(sorted(TYPES))
    path, arrow_type = path_of(name), TYPES[name]
    values = sorted({random_value(chance, name) for _ in range(chance.randint(1, 4))}, key=comparable)
    match chance.choice(["compare", "compare", "compare", "interval", "in", "null", "odd", "nan"]):
        case "interval":
            return Interval(path, pa.scalar(values[0], arrow_type), pa.scalar(values[-1], arrow_type))
        case "in":
            return In(path, pa.array(values, arrow_type))
        case "null":
            return IsNull(path)
        case "odd":
            return chance.choice([Unsupported("rand() < 1", "not deterministic"), Constant(Outcomes.NULL)])
        case "nan" if name in FLOATS:
            return IsNaN(path)
    if name in TEXTS and chance.random() < 0.6:
        return random_pattern(chance, name)
    return Compare(path, chance.choice([*Op, Op.EQ, Op.EQ]), pa.scalar(values[0], arrow_type))


def random_pattern(chance, name):
    """Ask for a part of a value of the column: short, whole, or longer than any bound."""
    path, arrow_type = path_of(name), TYPES[name]
    value = random_value(chance, name)
    first = chance.randrange(len(value) + 1)
    text = value[first : chance.randint(first, len(value))]
    kind = chance.choice([StartsWith, StartsWith, EndsWith, Contains, Like, Like])
    if kind is StartsWith:
        return StartsWith(path, pa.scalar(value[: chance.randrange(len(value) + 1)], arrow_type))
    if kind is not Like or arrow_type == pa.binary():
        return (EndsWith if kind is Like else kind)(path, pa.scalar(text, arrow_type))
    first, last = (chance.choice([*Wildcard, chance.choice(value or "c"), text[:3] or "c"]) for _ in range(2))
    return Like(path, (first, chance.choice(list(Wildcard)), last))


def random_predicate(chance, depth=3):
    kind = chance.choice(["leaf", "leaf", "and", "and", "or", "or", "not", "not", "truth"]) if depth else "leaf"
    if kind == "leaf":
        return random_leaf(chance)
    if kind == "truth":
        truths = [Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL]
        return IsTruth(random_predicate(chance, depth - 1), chance.choice(truths))
    if kind == "not":
        return Not(random_predicate(chance, depth - 1))
    children = tuple(random_predicate(chance, depth - 1) for _ in range(chance.randint(2, 3)))
    return And(children) if kind == "and" else Or(children)


# Leaves and their converted literals, by the id of the leaf.
_LITERALS = {}


def literals(leaf):
    """Return the literals of a leaf as values to compare; they are converted once for many rows."""
    known = _LITERALS.get(id(leaf))
    if known is None or known[0] is not leaf:
        match leaf:
            case Compare(_, _, value):
                found = [value]
            case Interval(_, low, high):
                found = [low, high]
            case In(_, values):
                found = values
        if len(_LITERALS) > 1_000:
            _LITERALS.clear()
        known = _LITERALS[id(leaf)] = leaf, [comparable(each.as_py()) for each in found]
    return known[1]


def truth(predicate, row):  # noqa: PLR0912  # a branch per kind of node
    """Evaluate a predicate over one row (a dict); True, False or None. An unsupported part counts as TRUE."""
    match predicate:
        case And(children):
            found = [truth(child, row) for child in children]
            return False if False in found else None if None in found else True
        case Or(children):
            found = [truth(child, row) for child in children]
            return True if True in found else None if None in found else False
        case Not(child):
            found = truth(child, row)
            return None if found is None else not found
        case IsTruth(child, wanted):
            return truth(child, row) is TRUTHS[wanted]
        case Unsupported():
            return None if any(value_at(path, row) is None for path in predicate.null_with) else True
        case Constant(outcomes):
            return TRUTHS[outcomes]
        case IsNull(path):
            return value_at(path, row) is None
        case IsNaN(path):
            value = value_at(path, row)
            return value is not None and math.isnan(value)
        case CompareColumns(left, op, right):
            values = value_at(left, row), value_at(right, row)
            return None if None in values else PYTHON[op](*map(comparable, as_doubles(values)))
    value = value_at(predicate.column, row)
    if value is None:
        return None
    value = comparable(value)
    match predicate:
        case Compare(_, op, _):
            return PYTHON[op](value, literals(predicate)[0])
        case Interval():
            low, high = literals(predicate)
            return low <= value <= high
        case In():
            return value in literals(predicate)
        case _:
            return holds(predicate, value)


def holds(pattern, value):
    """Return whether bytes match."""
    match pattern:
        case StartsWith(_, text):
            return value.startswith(comparable(text.as_py()))
        case EndsWith(_, text):
            return value.endswith(comparable(text.as_py()))
        case Contains(_, text):
            return comparable(text.as_py()) in value
        case Like(_, parts):
            regex = "".join(re.escape(part) if isinstance(part, str) else WILDCARDS[part] for part in parts)
            return re.fullmatch(regex, value.decode(), re.DOTALL) is not None
    raise TypeError(pattern)


def value_at(path, row):
    """Return the value at a path: null where a struct on the way is."""
    for name in path:
        row = None if row is None else row[name]
    return row
