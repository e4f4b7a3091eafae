"""Draw targets and MERGEs as plain data; the same numbers always give the same ones."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

UTC = pa.timestamp("us", "UTC")
DAY = dt.date(2024, 1, 1)
MOMENT = dt.datetime(2024, 3, 30, 22, 15, 0, 123456, tzinfo=dt.UTC)
WORDS = ("", "A b", "a'b", "a\\b", "100%", "a_b", "é", "日本", "z" * 40, "z" * 39 + "y", "Z", "\U0001f600")

# By SQL type: the type of Arrow, values in about ascending order, and values that are special.
KEYS = {
    "TINYINT": (pa.int8(), [3 * i for i in range(-20, 20)], [-128, 127]),
    "SMALLINT": (pa.int16(), [50 * i for i in range(-20, 20)], [-32768, 32767]),
    "INT": (pa.int32(), [7 * i for i in range(-5, 40)], [-(2**31), 2**31 - 1]),
    "BIGINT": (pa.int64(), [10**12 * i for i in range(40)], [-(2**63), 2**63 - 1, 2**53 + 1]),
    "DECIMAL(10,2)": (
        pa.decimal128(10, 2),
        [Decimal(37 * i).scaleb(-2) for i in range(-10, 40)],
        [Decimal("99999999.99"), Decimal("-99999999.99")],
    ),
    "STRING": (pa.string(), [f"k{i:03}" for i in range(40)], [*WORDS]),
    "DATE": (
        pa.date32(),
        [DAY + dt.timedelta(days=9 * i) for i in range(-10, 30)],
        [dt.date(1500, 3, 1), dt.date(9999, 12, 31), dt.date(1, 1, 1)],
    ),
    "TIMESTAMP": (
        UTC,
        [MOMENT + dt.timedelta(minutes=37 * i, microseconds=i) for i in range(40)],
        [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)],
    ),
    "TIMESTAMP_NTZ": (
        pa.timestamp("us"),
        [MOMENT.replace(tzinfo=None) + dt.timedelta(minutes=37 * i, microseconds=i) for i in range(40)],
        [dt.datetime(1900, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],  # noqa: DTZ001 - it has no zone
    ),
    "FLOAT": (
        pa.float32(),
        [0.5 * i for i in range(-10, 30)],
        [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e-45, 16777216.0],
    ),
    "DOUBLE": (
        pa.float64(),
        [0.1 * i for i in range(-10, 30)],
        [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 2.0**53],
    ),
    "BOOLEAN": (pa.bool_(), [False, True], []),
    "BINARY": (pa.binary(), [bytes([i, 255 - i]) for i in range(40)], [b"", b"\x00", b"\xff" * 40]),
}
# Types of the source's key in place of the target's.
OTHER_TYPES = {
    "TINYINT": (pa.int64(), pa.decimal128(5, 1)),
    "SMALLINT": (pa.int8(), pa.int64(), pa.float32()),
    "INT": (pa.int64(), pa.int16(), pa.decimal128(12, 2), pa.string(), pa.float64()),
    "BIGINT": (pa.int32(), pa.decimal128(22, 3), pa.float64()),
    "DECIMAL(10,2)": (pa.decimal128(14, 4), pa.decimal128(6, 1), pa.int32(), pa.float64()),
    "STRING": (pa.string(),),
    "DATE": (UTC, pa.string()),
    "TIMESTAMP": (pa.timestamp("us"), pa.date32()),
    "TIMESTAMP_NTZ": (UTC, pa.date32()),
    "FLOAT": (pa.float64(), pa.int16()),
    "DOUBLE": (pa.float32(), pa.int64()),
}
NUMBERS = {"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL(10,2)", "FLOAT", "DOUBLE"}
PROPERTIES = {
    "deletion vectors": {"delta.enableDeletionVectors": "true"},
    "column mapping": {
        "delta.columnMapping.mode": "name",
        "delta.minReaderVersion": "2",
        "delta.minWriterVersion": "5",
    },
}


@dataclass(frozen=True)
class Target:
    """A table with two key columns `k` and `j`, values `v` and `w`, in about `files` files that are sorted by `k`.

    `partition`: one of the keys, or None. `changes`: names of PROPERTIES; rows of a table with deletion vectors are
    deleted after the write.
    """

    types: dict
    rows: pa.Table
    files: int
    partition: str | None
    changes: tuple


@dataclass(frozen=True)
class Merge:
    """A MERGE of rows into a target; `forms` are names of its features, for the summary."""

    source: pa.Table
    on: str
    when: tuple
    forms: tuple


def random_target(draw):
    types = {"k": draw.choice([*KEYS]), "j": draw.choice([*KEYS])}
    files = draw.randint(3, 12)
    count = files * draw.randint(3, 8)
    columns = {name: _values(draw, KEYS[sql], count) for name, sql in types.items()}
    columns["v"] = pa.array([draw.randint(0, 20) for _ in range(count)], pa.int32())
    columns["w"] = pa.array([draw.choice((None, *WORDS)) for _ in range(count)], pa.string())
    partition = None
    if draw.random() < 0.45:
        partition = draw.choice("kj")
        few = draw.sample(range(count), 3)
        columns[partition] = columns[partition].take(pa.array([draw.choice(few) for _ in range(count)]))
    changes = tuple(name for name in PROPERTIES if draw.random() < 0.25)
    return Target({**types, "v": "INT", "w": "STRING"}, pa.table(columns), files, partition, changes)


def _values(draw, kind, count):
    arrow, plain, special = kind
    odd, nulls = draw.choice((0.0, 0.05, 0.2)), draw.choice((0.0, 0.05, 0.3))
    values = [draw.choice(special) if special and draw.random() < odd else draw.choice(plain) for _ in range(count)]
    return pa.array([None if draw.random() < nulls else value for value in values], arrow)


def random_merge(draw, target):
    forms = []
    count = draw.choice((0, 1, 1, 2, 3, 4, 6, 12))
    columns = {}
    for name in "kj":
        values = _near_values(draw, target, name, count)
        others = OTHER_TYPES.get(target.types[name], ())
        if others and draw.random() < 0.25:
            values = _cast(values, draw.choice(others), forms)
        columns[name] = values
    columns["v"] = pa.array([draw.randint(0, 20) for _ in range(count)], pa.int32())
    columns["w"] = pa.array([draw.choice((None, *WORDS)) for _ in range(count)], pa.string())
    source = pa.table(columns)
    on = _random_on(draw, target, source, forms)
    return Merge(source, on, _random_when(draw, source.schema == target.rows.schema, forms), tuple(forms))


def _near_values(draw, target, name, count):
    """Return keys of the target that are close to each other, with a few others, nulls and duplicates."""
    arrow, plain, special = KEYS[target.types[name]]
    held = [value for value in target.rows[name].to_pylist() if value is not None] or plain
    ordered = sorted(held, key=lambda value: (repr(value) == "nan", value))
    first = draw.randrange(len(ordered))
    near = ordered[first : first + draw.choice((1, 2, 5, 20))]
    near = list({repr(value): value for value in near}.values()) if draw.random() < 0.8 else near
    draw.shuffle(near)
    values = [near[i] if i < len(near) else draw.choice(plain) for i in range(count)]
    if special and draw.random() < 0.2:
        values = [draw.choice(special) if draw.random() < 0.3 else value for value in values]
    if draw.random() < 0.2:
        values = [None if draw.random() < 0.3 else value for value in values]
    return pa.array(values, arrow)


def _cast(values, arrow, forms):
    try:
        converted = values.cast(arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values
    forms.append("another type of key")
    return converted


def _random_on(draw, target, source, forms):
    names = ["k"] if draw.random() < 0.5 else draw.choice((["j"], ["k", "j"], ["j", "k"]))
    parts = [_equality(draw, name, target, source, forms) for name in names]
    if draw.random() < 0.3:
        forms.append("condition on the target")
        parts.append(
            draw.choice(("t.v > 8", "t.v IN (1, 2, 3, 4, 5, 6, 7, 8)", "t.k IS NOT NULL", "t.w >= 'a'", "t.v % 2 = 0"))
        )
    if draw.random() < 0.2:
        forms.append("condition on the source")
        parts.append(draw.choice(("s.v > 5", "s.k IS NOT NULL", "s.w IS NULL OR s.v < 18")))
    if draw.random() < 0.15:
        forms.append("other condition")
        parts.append(draw.choice(("t.v <= s.v + 15", "t.w <=> s.w OR t.v > 2", "t.v + s.v > 3")))
    draw.shuffle(parts)
    brackets = [f"({part})" if " OR " in part or draw.random() < 0.3 else part for part in parts]
    return " AND ".join(brackets)


def _equality(draw, name, target, source, forms):
    sql, key, column = target.types[name], f"s.{name}", f"t.{name}"
    drawn = draw.random()
    if drawn < 0.5:
        return draw.choice((f"{column} = {key}", f"{key} = {column}"))
    if drawn < 0.68:
        forms.append("null-safe")
        both = f"{column} = {key} OR ({column} IS NULL AND {key} IS NULL)"
        return draw.choice((f"{column} <=> {key}", f"{key} <=> {column}", both))
    if drawn < 0.84:
        forms.append("expression of the source")
        choices = [f"CAST({key} AS {sql})", f"coalesce({key}, {key})", f"nullif({key}, {key})"]
        if sql in NUMBERS and not pa.types.is_string(source.schema.field(name).type):
            choices += [f"{key} + 1Y", f"-{key}", f"CAST({key} + 1 AS {sql})"]
        if sql == "STRING":
            choices += [f"upper({key})", f"concat({key}, '')", f"trim({key})"]
        if sql in {"DATE", "TIMESTAMP"}:
            choices += [f"date_add({key}, 1)", f"date_trunc('DAY', {key})"]
        return f"{column} = {draw.choice(choices)}"
    forms.append("disjunction or expression of the target")
    return draw.choice(
        (
            f"({column} = {key} OR t.v = s.v)",
            f"({column} = {key} AND t.v > 3 OR {column} = {key} AND s.v > 3)",
            f"({column} = {key} AND t.v > 3 OR {column} <=> {key} AND s.v > 3)",
            f"CAST({column} AS STRING) = CAST({key} AS STRING)",
            f"coalesce({column}, {key}) = {key}",
        )
    )


def _random_when(draw, same_types, forms):
    clauses = []
    if draw.random() < 0.85:
        for _ in range(draw.choice((1, 1, 2))):
            last = "UPDATE SET *" if same_types else "UPDATE SET v = s.v, w = s.w"
            action = draw.choice((last, last, "UPDATE SET v = t.v + s.v", "DELETE"))
            condition = draw.choice(("", "", "s.v > t.v", "t.v % 3 = 0", "s.w IS NULL"))
            clauses.append((f"MATCHED{condition and ' AND '}{condition}", action))
            if not condition:
                break
    if draw.random() < 0.6 or not clauses:
        action = "INSERT *" if same_types and draw.random() < 0.6 else "INSERT (v, w) VALUES (s.v, s.w)"
        clauses.append((f"NOT MATCHED{draw.choice(('', '', ' AND s.v > 4'))}", action))
    if draw.random() < 0.15:
        condition = draw.choice(("", " AND t.v < 5"))
        clauses.append((f"NOT MATCHED BY SOURCE{condition}", draw.choice(("DELETE", "UPDATE SET v = -1"))))
    forms += [" ".join([case.partition(" AND ")[0], action.split(" ")[0]]) for case, action in clauses]
    return tuple(f"WHEN {case} THEN {action}" for case, action in clauses)
