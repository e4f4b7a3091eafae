"""Tables of strings and bytes, and Spark SQL predicates made of parts of their values."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq

from tests.prune_assets.planner.sql_cases import written

LETTERS = ["a", "b", "B", "é", "\u20ac", "\U0001f600", "\U0010ffff", "\n", "\r", "\\", "%", "_", "'", ".", "\x7f", "\0"]
BYTES = [b"\0", b"a", b"b", b"\x7f", b"\x80", b"\xfe", b"\xff", b"\xff\xff"]
# Up to, beyond and far beyond what writers keep of a bound.
BEGINNINGS = ["", "", "", "p", "p" * 63, "p" * 64, "q" * 70, "\U0010ffff" * 17, "r" * 4_100]
SHARE_OF_NULLS = [0, 0, 0, 0.2, 1]


def text_table(chance, rows=240):
    """Columns: a string and bytes of any kind, a string with few values in each part of the table."""
    columns = {"text": [], "blob": [], "kind": []}
    while len(columns["text"]) < rows:
        start, nulls = chance.choice(BEGINNINGS), chance.choice(SHARE_OF_NULLS)
        texts = [start + "".join(chance.choices(LETTERS, k=chance.randint(0, 4))) for _ in range(30)]
        blobs = [start.encode() + b"".join(chance.choices(BYTES, k=chance.randint(0, 4))) for _ in range(30)]
        few = chance.sample(texts, chance.randint(1, 3))
        columns["text"] += with_nulls(chance, sorted(texts, key=str.encode) if chance.random() < 0.6 else texts, nulls)
        columns["blob"] += with_nulls(chance, sorted(blobs) if chance.random() < 0.6 else blobs, nulls)
        columns["kind"] += with_nulls(chance, [chance.choice(few) for _ in range(30)], nulls)
    types = {"text": pa.string(), "blob": pa.binary(), "kind": pa.string()}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def with_nulls(chance, values, share):
    return [None if chance.random() < share else value for value in values]


def write_texts(chance, table, path):
    pq.write_table(
        table,
        path,
        row_group_size=chance.choice([30, 60, 240]),
        max_rows_per_page=chance.choice([7, 15, 30]),
        write_batch_size=1,
        write_page_index=chance.random() < 0.9,
        write_statistics=chance.random() < 0.9,
        use_dictionary=chance.choice([True, False, ["kind"]]),
        bloom_filter_options={"kind": {"ndv": 64}} if chance.random() < 0.5 else {},
    )


def text_predicate(chance, table, depth=2):
    kind = chance.choice(["leaf", "AND", "OR", "NOT"]) if depth else "leaf"
    if kind == "leaf":
        return text_leaf(chance, table)
    if kind == "NOT":
        return f"NOT ({text_predicate(chance, table, depth - 1)})"
    return "(" + f" {kind} ".join(text_predicate(chance, table, depth - 1) for _ in range(2)) + ")"


def text_leaf(chance, table):
    name = chance.choice(["text", "text", "kind", "kind", "blob"])
    value = chance.choice([value for value in table.column(name).to_pylist() if value is not None] or [""])
    if isinstance(value, str) and name == "blob":
        value = b""
    first = chance.randrange(len(value) + 1)
    start = value[: chance.choice([0, 1, 2, len(value) - 1, len(value), len(value)])]
    part = value[first : first + chance.randint(0, 3)]
    literal, op = written(start), chance.choice(["=", "<>", "<", "<=", ">", ">="])
    count = chance.choice([0, 1, 2, len(start), len(start), len(start) + 1])
    forms = [
        f"startswith({name}, {literal})",
        f"endswith({name}, {written(part)})",
        f"contains({name}, {written(part)})",
        f"left({name}, {count}) {op} {literal}",
        f"{literal} {op} substr({name}, 1, {count})",
        f"left({name}, {count}) IN ({literal}, {written(part)}, NULL)",
        f"left({name}, {count}) <=> {literal}",
        f"{name} {op} {literal}",
        f"{name} IS NULL",
    ]
    return chance.choice(forms if name == "blob" else [*forms, *likes(chance, name, value, start, part)])


def likes(chance, name, value, start, part):
    pattern = "".join(chance.choice(["%", "_", letter, escaped(letter)]) for letter in value[-5:])
    whole = chance.choice([escaped(start) + "%", "%" + escaped(part), f"%{escaped(part)}%", pattern, pattern + "%"])
    middle = chance.choice(["_", "%"]).join([escaped(start), escaped(value[len(start) + 1 :])])
    end = chance.choice(["", "$", ".*", ".+", "[ab]", *(["*", "?", "+"] if start else [])])
    regex = chance.choice(["^", "^", "", ".*"]) + plain(start) + end
    return [
        f"{name} LIKE {written(valid(whole))}",
        f"{name} NOT LIKE {written(valid(whole))}",
        f"{name} LIKE {written(valid(middle))}",
        f"{name} NOT LIKE {chance.choice(['ALL', 'ANY'])} ({written(valid(pattern))}, {written(valid(middle))})",
        f"{name} RLIKE {written(regex)}",
        f"{name} RLIKE {written('^(' + plain(start) + '|' + plain(part) + ')')}",
    ]


def escaped(text):
    return re.sub(r"[%_\\]", r"\\\g<0>", text)


def valid(pattern):
    """Double every backslash that Spark would fail on."""
    return re.sub(r"\\([%_\\])|\\", lambda found: found.group() if found.group(1) else "\\\\", pattern)


def plain(text):
    return re.sub(r"[^0-9A-Za-z\u0080-\U0010ffff]", r"\\\g<0>", text)
