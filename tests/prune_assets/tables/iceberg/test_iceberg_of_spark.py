"""Tables that Spark writes with Iceberg's runtime: all transforms, evolution, position deletes, deletion vectors."""

from __future__ import annotations

import os
import random

import pytest
import spark_packages

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.examination import InspectOptions
from prune_assets.tables.iceberg.inspection import inspect_snapshot
from tests.prune_assets.tables.iceberg import spark_with_iceberg as there

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SEED = int(os.environ.get("PRUNE_SEED", "7"))
PREDICATES = int(os.environ.get("PRUNE_PREDICATES", "15"))
SPECS = {
    "none": [],
    "times": ["years(ts)", "months(ntz)", "days(day)"],
    "more_times": ["hours(ts)", "years(day)"],
    "days": ["days(ts)", "months(day)"],
    "ntz": ["days(ntz)"],
    "buckets": ["bucket(4, k)", "bucket(3, s)", "bucket(3, d)"],
    "more_buckets": ["bucket(4, n)", "bucket(3, ts)", "bucket(3, day)", "bucket(2, b)", "bucket(2, ntz)"],
    "truncated": ["truncate(10, n)", "truncate(2, s)", "truncate(100, d)", "truncate(1, b)"],
    "identity": ["s", "x", "day"],
}
EVOLVED = [
    "ALTER TABLE {} ADD PARTITION FIELD bucket(3, s)",
    "ALTER TABLE {} DROP PARTITION FIELD days(ts)",
    "ALTER TABLE {} ADD COLUMN added INT AFTER k",
    "ALTER TABLE {} DROP COLUMN added",
    "ALTER TABLE {} ALTER COLUMN n TYPE BIGINT",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def run(place):
    with spark_packages.iceberg_lake(place) as run:
        yield run


def value(rng, name):
    """As SQL."""
    column = ["n", "ts", "ntz", "day", "s", "b", "d", "x"].index(name)
    texts = [row[1:-1].split(", ")[1 + column] for row in there.rows(rng, 0, 6)]
    return next((text for text in texts if text != "NULL"), "NULL")


def predicate(rng):
    name = rng.choice(["n", "ts", "ntz", "day", "s", "b", "d", "x"])
    leaf = {
        "compare": lambda: f"{name} {rng.choice(['=', '=', '!=', '<', '<=', '>', '>='])} {value(rng, name)}",
        "in": lambda: f"{name} IN ({value(rng, name)}, {value(rng, name)})",
        "null": lambda: f"{name} IS {rng.choice(['', 'NOT '])}NULL",
        "key": lambda: f"k = {rng.choice([0, 3, 105, 210])}",
    }[rng.choice(["compare", "compare", "in", "null", "key"])]()
    if rng.random() < 0.5:
        return leaf
    return f"{rng.choice(['', 'NOT '])}({leaf}) {rng.choice(['AND', 'OR'])} {predicate(rng)}"


def check(run, place, name, rng, *, count=PREDICATES):
    """Hold random predicates against Spark with Iceberg; return how many files were kept, of how many."""
    predicates = [predicate(rng) for _ in range(count)]
    kept = files = 0
    for where, keys in zip(predicates, run(there.selected, f"lake.db.{name}", predicates), strict=True):
        semantics = SparkSemantics(time_zone="UTC", case_sensitive=True)
        found = pr.read_arrow(place / "db" / name, where=where, columns=["k"], semantics=semantics)
        assert sorted(found["k"].to_pylist()) == keys, where
        plan = pr.plan(place / "db" / name, where=where, semantics=semantics)
        kept, files = kept + sum(file.verdict != "skip" for file in plan.files), files + len(plan.files)
    return kept, files


@pytest.mark.parametrize("spec", SPECS)
def test_no_row_is_lost(run, place, spec):
    run(there.make, f"lake.db.{spec}", SPECS[spec], f"{SEED} {spec}", 2)
    kept, files = check(run, place, spec, random.Random(f"{SEED} {spec}"))
    assert kept < files


@pytest.mark.parametrize("version", [1, 2])
def test_no_row_is_lost_when_the_table_changed(run, place, version):
    """Of format 1 a dropped partition field stays as `void`."""
    name = f"evolved{version}"
    run(there.make, f"lake.db.{name}", ["days(ts)", "truncate(1, s)"], SEED, version, EVOLVED)
    kept, files = check(run, place, name, random.Random(SEED))
    assert kept < files
    transforms = {field.transform for field in pr_inspect(place / "db" / name).partitions}
    assert ("void" in transforms) == (version == 1)


def pr_inspect(place):
    from prune_assets.tables.opening import open_as_written

    return inspect_snapshot(open_as_written(place), InspectOptions()).facts


def test_position_deletes_are_applied_and_told(run, place):
    run(there.make, "lake.db.deleted", ["bucket(2, n)"], SEED, 2)
    run(there.run_sql, "DELETE FROM lake.db.deleted WHERE k % 5 = 0", "DELETE FROM lake.db.deleted WHERE k = 101")
    check(run, place, "deleted", random.Random(SEED))
    left = [k for i in range(3) for k in range(i * 100, i * 100 + 14) if k % 5 and k != 101]
    where = place / "db" / "deleted"
    assert pr.count(where) == len(left)
    assert (pr.count(where, where="k = 101"), pr.count(where, where="k = 102")) == (0, 1)
    found = pr_inspect(where)
    assert found.files_with_position_deletes > 0
    assert found.files_with_equality_deletes == 0
    assert any("position deletes of" in note for note in pr.plan(where, where="k > 100").report.table_snapshot.notes)


def test_deletion_vectors_cause_no_skip_and_are_refused_by_name(run, place):
    run(there.make, "lake.db.vectors", [], SEED, 3)
    run(there.run_sql, "DELETE FROM lake.db.vectors WHERE k = 3")
    where = place / "db" / "vectors"
    kept = [file for file in pr.plan(where, where="k = 4").files if file.verdict != "skip"]
    assert len(kept) == 1
    assert pr_inspect(where).files_with_position_deletes > 0
    with pytest.raises(UnsupportedFeature, match="are not applied here; read it with Spark and Iceberg"):
        pr.count(where, where="k = 4")


def test_the_order_of_the_table_is_told_and_its_files_are_checked(run, place):
    run(there.make, "lake.db.ordered", [], SEED, 2, ["ALTER TABLE {} WRITE ORDERED BY n, s"])
    where = place / "db" / "ordered"
    assert pr_inspect(where).sorted_by == ("n", "s")
    found = pr.check(where, layout=pr.LayoutSpec(sort_by=["n"]))
    assert {"order.rows", "files.small"} & {finding.code for finding in found} or found == []
