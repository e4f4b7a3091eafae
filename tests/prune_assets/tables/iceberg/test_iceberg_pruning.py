"""Tables of Iceberg that pyiceberg wrote, with every transform: no row is lost, and no file too many is kept.

`PRUNE_SEED` and `PRUNE_PREDICATES` draw other predicates, and more of them.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.pruning.predicate import And, In, InTuples, IsNull
from prune_assets.spark.lower_predicate import lower_predicate
from prune_assets.tables.opening import open_as_written
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.iceberg_tables import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)

SEED = int(os.environ.get("PRUNE_SEED", "7"))
PREDICATES = int(os.environ.get("PRUNE_PREDICATES", "30"))
NAMES = ["k", "n", "ts", "tz", "day", "s", "b", "d", "x", "f", "flag", "st.a", "st.t"]
SPECS = {
    "none": [],
    "identity": [("s", IdentityTransform()), ("flag", IdentityTransform())],
    "identities": [("n", IdentityTransform()), ("d", IdentityTransform()), ("day", IdentityTransform())],
    "floats": [("x", IdentityTransform()), ("f", IdentityTransform())],
    "times": [("ts", IdentityTransform()), ("tz", IdentityTransform()), ("b", IdentityTransform())],
    "year": [("ts", YearTransform()), ("day", MonthTransform())],
    "month": [("tz", MonthTransform()), ("day", YearTransform())],
    "day": [("ts", DayTransform()), ("day", DayTransform())],
    "hour": [("tz", HourTransform())],
    "bucket": [("k", BucketTransform(8)), ("s", BucketTransform(3))],
    "buckets": [("day", BucketTransform(4)), ("ts", BucketTransform(4)), ("d", BucketTransform(4))],
    "more buckets": [("n", BucketTransform(4)), ("tz", BucketTransform(3)), ("b", BucketTransform(3))],
    "truncate": [("k", TruncateTransform(10)), ("s", TruncateTransform(2))],
    "truncates": [("n", TruncateTransform(7)), ("d", TruncateTransform(50)), ("b", TruncateTransform(1))],
}


def partitioned(directory, fields, rng, *, since=1950, rounds=4):
    """A table with a spec, of some appends, with what `evolve` does in between."""
    table = made.catalog_in(directory).create_table(f"db.t{rng.randint(0, 1 << 30)}", made.SCHEMA)
    table.append(made.rows(rng, 0, 12, since=since))
    with table.update_spec() as update:
        for name, transform in fields:
            update.add_field(name, transform, f"{name}_{transform}".replace("[", "_").rstrip("]"))
    for i in range(1, rounds):
        table.append(made.rows(rng, i * 100, 12, since=since))
    return table


@pytest.fixture(scope="module", params=SPECS, ids=lambda name: name.replace(" ", "_"))
def case(request, tmp_path_factory):
    directory, rng = tmp_path_factory.mktemp("iceberg"), random.Random(f"{SEED} {request.param}")
    table = partitioned(directory, SPECS[request.param], rng)
    return table, made.copied(table, directory / "plain.parquet"), rng, often(request.param)


def often(spec):
    """Return the columns, with partition sources repeated so that they are drawn more often."""
    return [*NAMES, *(name for name, _ in SPECS[spec] for _ in range(8))]


def keys(table):
    return sorted(table["k"].to_pylist())


@pytest.mark.sampled(5)
def test_no_row_is_lost(case):
    table, plain, rng, names = case
    held = made.held_by(pq.read_table(plain))
    directory = made.folder(table)
    for i in range(PREDICATES):
        tried = made.predicate(rng, names, held)
        ours, theirs = (pr.read_arrow(each, where=tried.sql, columns=["k"]) for each in (directory, plain))
        assert keys(ours) == keys(theirs), tried.sql
        assert i % 5 or pr.count(directory, where=tried.sql) == len(theirs), tried.sql


@pytest.mark.sampled(5)
@pytest.mark.parametrize("spec", SPECS, ids=lambda name: name.replace(" ", "_"))
def test_no_file_is_kept_that_pyiceberg_skips(tmp_path, spec):
    """The comparison covers pruning before footers are read.

    Floats are left out, because pyiceberg forgets that NaN is greater than all numbers. Values are from 1970 on,
    because some writers round earlier values differently, which pyiceberg ignores
    (`test_what_was_counted_towards_1970`).
    """
    rng = random.Random(f"{SEED} {spec}")
    table = partitioned(tmp_path, SPECS[spec], rng, since=1971)
    opened, skipped, held = open_as_written(made.folder(table)), 0, made.held_by(table.scan().to_arrow())
    names = [name for name in often(spec) if name not in {"x", "f"}]
    for _ in range(PREDICATES):
        tried = made.predicate(rng, names, held)
        answers = opened.answers(lower_predicate(tried.sql, opened, session=None).predicate)
        ours = {opened.snapshot.files[i].file_path.removeprefix("file://") for i in np.flatnonzero(answers.kept)}
        theirs = made.planned_by_pyiceberg(table, tried.expression)
        assert theirs is None or ours <= theirs, tried.sql
        skipped += len(opened.snapshot.files) - len(theirs or ours)
    assert skipped


@pytest.mark.parametrize("spec", ["identities", "day"])
def test_tuples_are_compared_with_partitions_and_bounds_together(tmp_path, spec):
    """A file with a listed tuple is kept, and fewer files are kept than by each column alone."""
    rng = random.Random(f"{SEED} {spec}")
    opened = open_as_written(made.folder(partitioned(tmp_path, SPECS[spec], rng, since=1971)))
    together, alone = 0, 0
    for names in (("n", "day"), ("n", "s"), ("ts", "s"), ("day", "ts")):
        paths = tuple((name,) for name in names)
        types = [opened.by_path[path].leaf.type for path in paths]
        opened.answers(IsNull(paths[0]))  # opens all manifests
        files = [pq.read_table(file.file_path.removeprefix("file://")) for file in opened.snapshot.files]
        rows = [list(zip(*(file[path[0]].to_pylist() for path in paths), strict=True)) for file in files]
        valued = sorted({row for of_file in rows for row in of_file if None not in row}, key=repr)
        tuples = rng.sample(valued, 3)
        # A pair of values that occur, but not in one row.
        tuples += [(tuples[0][0], tuples[1][1])] if (tuples[0][0], tuples[1][1]) not in tuples else []
        values = tuple(pa.array(column, kind) for column, kind in zip(zip(*tuples, strict=True), types, strict=True))
        both = opened.answers(InTuples(paths, values)).kept
        each = opened.answers(And(tuple(In(path, of.unique()) for path, of in zip(paths, values, strict=True)))).kept
        assert all(both[i] or not set(tuples).intersection(of_file) for i, of_file in enumerate(rows))
        together, alone = together + both.sum(), alone + each.sum()
    assert together < alone
