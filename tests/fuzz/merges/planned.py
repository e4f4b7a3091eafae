"""Plan random MERGEs without Spark: the condition must hold for each row of the target that has a partner.

Rows are matched here by Python's equality, for pairs of types that Spark compares exactly.
"""

from __future__ import annotations

import random
import re
import time

import pyarrow as pa
import pyarrow.parquet as pq

import deltalog
import prune_assets as pr
from parquet_core.errors import PruneError

from .cases import KEYS, random_merge, random_target

# Binary values have no text in the log, and old times no certain one.
UNWRITTEN = {"BINARY"}
CONDITIONS = (None, None, "t.v > 8", "t.k IS NOT NULL")


def run(place, seed, count, seconds, first=0):
    """Return the number of conditions that were tested, the number of rows with a partner, and the findings."""
    conditions, matched, findings, started, number = 0, 0, [], time.monotonic(), first
    while number < first + count and time.monotonic() - started < seconds:
        draw = random.Random(f"{seed} {number} planned")
        target = random_target(draw)
        merge = random_merge(draw, target)
        if target.partition is None or target.types[target.partition] not in UNWRITTEN:
            table = write(f"{place}/{seed}_{number}", target)
            kept, rows, what = judge(draw, table, target, merge.source)
            conditions, matched = conditions + kept, matched + rows
            findings += [(number, what)] if what else []
        number += 1
    return conditions, matched, findings


def write(place, target):
    """Write a Delta table whose files are sorted by `k`, each of one partition."""
    rows = target.rows.sort_by("k")
    size = -(-len(rows) // target.files)
    deltalog.create_table(place, rows.schema, partition_by=[target.partition] if target.partition else [])
    snapshot, new = deltalog.open_snapshot(place), []
    for start in range(0, len(rows), size):
        for value, part in _parts(rows.slice(start, size), target.partition):
            name = f"{len(new)}.parquet"
            pq.write_table(part.drop_columns([target.partition]) if target.partition else part, f"{place}/{name}")
            new.append(deltalog.NewFile(name, {target.partition: value} if target.partition else {}))
    deltalog.append(snapshot, deltalog.adds_of(place, snapshot.schema, new))
    return place


def _parts(rows, partition):
    if partition is None:
        return [(None, rows)]
    values = rows[partition].to_pylist()
    texts = [partition_text(value) for value in values]
    return [
        (text, rows.take(pa.array([i for i, it in enumerate(texts) if it == text]))) for text in dict.fromkeys(texts)
    ]


def partition_text(value):
    """Return a value as the log of Delta has values of partitions; the empty string is null there."""
    if value is None or value == "":
        return None
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix("+00:00")


def judge(draw, table, target, source):
    """Plan one MERGE. Return 1 if it has a condition, the number of rows with a partner, and the fault or None."""
    names = [name for name in draw.choice(("k", "j", "kj", "jk")) if _is_exact(target, source, name)]
    if not names:
        return 0, 0, None
    safe = {name: draw.random() < 0.3 for name in names}
    parts = [f"t.{name} {'<=>' if safe[name] else '='} s.{name}" for name in names]
    other = draw.choice(CONDITIONS)
    on = " AND ".join([*parts, *([other] if other else [])])
    # A time zone makes the plan independent of the machine.
    planned = pr.plan_merge(table, source, on=on, when=["MATCHED UPDATE"], semantics=pr.SparkSemantics(time_zone="UTC"))
    if planned.condition is None:
        return 0, 0, None
    semantics = planned.plan.semantics
    try:
        everything = pr.read_arrow(table, semantics=semantics)
        kept = pr.read_arrow(table, where=_readable(planned.condition), semantics=semantics)
    except PruneError:
        return 0, 0, None  # without Spark not all values are read
    keys = {_key(row, names) for row in source.select(names).to_pylist()}
    partners = [
        row
        for row in everything.to_pylist()
        if _key(row, names) in keys and all(row[name] is not None or safe[name] for name in names)
    ]
    left = sorted(map(repr, kept.to_pylist()))
    lost = [row for row in map(repr, partners) if row not in left]
    what = f"{lost[:3]} have a partner by {on}, not with {planned.condition}: {target.types}" if lost else None
    return 1, len(partners), what


def _readable(condition):
    """Return a condition of the target as `read_arrow` takes it: without the alias, and strings as plain literals."""

    def literal(found):
        return "'" + bytes.fromhex(found[1]).decode().replace("\\", "\\\\").replace("'", "\\'") + "'"

    return re.sub(r"\bt\.", "", re.sub(r"CAST\(X'([0-9a-f]*)' AS STRING\)", literal, condition))


def _is_exact(target, source, name):
    """Return whether Spark compares keys of both types as Python does."""
    arrow, other = KEYS[target.types[name]][0], source.schema.field(name).type
    types = pa.types
    exact = [types.is_integer(it) or types.is_decimal(it) for it in (arrow, other)]
    return arrow == other or all(exact) or all(types.is_floating(it) for it in (arrow, other))


def _key(row, names):
    values = (row[name] for name in names)
    return tuple("NaN" if isinstance(value, float) and repr(value) == "nan" else value for value in values)
