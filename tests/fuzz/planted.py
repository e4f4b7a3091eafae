"""Plant random contradictions in small tables, and compare every plan with the actual rows.

A seed and a case number always give the same case. Each column gets one corruption, because a second one may hide the
first.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from tests.corrupt_metadata.corruptions import CONTRADICTIONS, Place
from tests.corrupt_metadata.judging import Truth, judged
from tests.corrupt_metadata.raw_metadata import RawMetadata

MOST_FINDINGS = 10
# Corruptions that only the claimed order of pages reveals.
OF_ORDERED_PAGES = {"pages_in_reverse"}
# Raised if the file does not contain the metadata that a corruption changes.
INAPPLICABLE = (StopIteration, IndexError, KeyError, TypeError)


@dataclass
class Result:
    files: int = 0
    cases: int = 0
    refused: int = 0
    findings: list[tuple[int, object, Path | None]] = field(default_factory=list)
    seconds: float = 0.0


def random_rows(chance, groups):
    """Return tables of three to five columns, one a row group; no two of them have the same bounds."""
    makers = [chance.choice([_integers, _texts, _floats]) for _ in range(chance.randint(3, 5))]
    nulls = [chance.choice([0, 0.1, 0.6]) for _ in makers]
    in_order = [chance.random() < 0.6 for _ in makers]
    for group in range(groups):
        count = chance.randint(30, 90)
        columns = {}
        for i, make in enumerate(makers):
            values = make(chance, group, count)
            values = sorted(values) if in_order[i] else values
            columns[f"c{i}"] = pa.array(
                [None if chance.random() < nulls[i] else value for value in values], _KINDS[make]
            )
        yield pa.table(columns)


def _integers(chance, group, count):
    base = 100_000 * chance.randrange(4) + group
    return [base + 7 * chance.randrange(5_000) for _ in range(count)]


def _texts(chance, group, count):
    return [f"{chance.choice('abcxyz')}{chance.randrange(10**6):06}-{group}" for _ in range(count)]


def _floats(chance, group, count):
    return [chance.uniform(-1000, 1000) + group * chance.choice([0, 500]) for _ in range(count)]


_KINDS = {_integers: pa.int64(), _texts: pa.string(), _floats: pa.float64()}


def random_file(chance, path):
    """Write a file of a few row groups of a few pages."""
    tables = list(random_rows(chance, chance.randint(2, 4)))
    names = tables[0].column_names
    options = {
        "use_dictionary": [name for name in names if chance.random() < 0.4],
        "bloom_filter_options": {name: {"ndv": 100} for name in names if chance.random() < 0.6} or None,
        "write_page_index": True,
        "max_rows_per_page": chance.choice([5, 10, 25]),
        "write_batch_size": 1,
    }
    with pq.ParquetWriter(path, tables[0].schema, **options) as writer:
        for table in tables:
            writer.write_table(table)
    return tables


def random_predicates(chance, tables):
    """Return predicates on values that are there, mostly, one column or two."""
    found = []
    for _ in range(12):
        parts = [_comparison(chance, tables) for _ in range(chance.choice([1, 1, 2]))]
        found.append(chance.choice([" AND ", " OR "]).join(f"({part})" for part in parts))
    return found


def _comparison(chance, tables):
    name = chance.choice(tables[0].column_names)
    known = [value for table in tables for value in table[name].to_pylist() if value is not None]
    if not known or chance.random() < 0.15:
        return f"{name} IS {chance.choice(['', 'NOT '])}NULL"
    low, high = sorted(map(_literal, chance.choices(known, k=2)), key=len)
    form = chance.choice(["{n} = {a}", "{n} = {a}", "{n} < {a}", "{n} >= {a}", "{n} IN ({a}, {b})", "{n} <> {a}"])
    return form.format(n=name, a=low, b=high)


def _literal(value):
    return (
        f"'{value}'"
        if isinstance(value, str)
        else f"CAST('{value!r}' AS DOUBLE)"
        if isinstance(value, float)
        else str(value)
    )


def plant(chance, raw, names):
    """Plant a few corruptions, each in another column; return their names."""
    columns = chance.sample(range(raw.width), chance.choice([1, 1, 2, 3]))
    planted_names = []
    for column in columns:
        group, other = chance.sample(range(len(raw.groups)), 2)
        beside = chance.choice([i for i in range(raw.width) if i != column])
        name = chance.choice(names)
        with contextlib.suppress(*INAPPLICABLE):
            CONTRADICTIONS[name](raw, Place(group, column, other, beside))
            planted_names.append(f"{name} (row group {group}, column {column}, {other}, {beside})")
    return planted_names


def run(*, seed, count, seconds=float("inf"), first=0, keep=None):
    """Check `count` files from number `first` on; files with wrong plans are kept in the directory `keep`."""
    result, start = Result(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, patch.dict(os.environ, {"PRUNE_CACHE_BYTES": "0"}):
        for number in range(first, first + count):
            if time.monotonic() - start > seconds or len(result.findings) >= MOST_FINDINGS:
                break
            _judge(seed, number, Path(scratch) / "t.parquet", result, keep)
    result.seconds = time.monotonic() - start
    return result


def _judge(seed, number, path, result, keep):
    chance = random.Random(f"{seed} {number}")
    tables = random_file(chance, path)
    truth, predicates = Truth(path), random_predicates(chance, tables)
    names = sorted(set(CONTRADICTIONS) - OF_ORDERED_PAGES)
    raw = RawMetadata(path.read_bytes())
    planted = plant(chance, raw, names)
    path.write_bytes(raw.bytes())
    wrong = judged(path, truth, predicates)
    result.files += 1
    result.refused += wrong is None
    result.cases += 0 if wrong is None else len(predicates)
    for each in wrong or ():
        result.findings.append((number, (planted, each), _kept(path, keep, seed, number)))


def _kept(path, keep, seed, number):
    if keep is None:
        return None
    keep.mkdir(parents=True, exist_ok=True)
    copy = keep / f"contradictions-seed-{seed}-file-{number}.parquet"
    copy.write_bytes(path.read_bytes())
    return copy
