"""Plans of Delta tables that others wrote: no live row that a predicate selects is skipped."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest

import prune_assets as pr
from deltalog.snapshot.opening import open_snapshot
from parquet_core.errors import PruneError
from prune_assets.errors import PredicateSyntaxError
from tests.prune_assets.planner.delta_rows import (
    GOLDEN,
    MISSING,
    check_soundness,
    flat_columns,
    random_predicate,
    rows_by_file,
)

SKIP_TRUTH = GOLDEN / "_expected" / "_skip_truth.json"
EACH = 40


@cache
def skip_truth():
    return json.loads(SKIP_TRUTH.read_text()) if SKIP_TRUTH.is_file() else {}


def tables():
    return sorted(path.name for path in GOLDEN.glob("[!_]*/"))


@cache
def readable(table):
    """Return the rows of a table by file; a reason if there is nothing to compare with."""
    try:
        snapshot = open_snapshot(GOLDEN / table)
    except PruneError as error:
        return str(error)
    found = rows_by_file(snapshot, flat_columns(snapshot))
    return "its data files are not there" if found is None else found or "it has no file"


pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("table", tables())
def test_no_selected_row_of_a_golden_table_is_skipped(table):
    files = readable(table)
    if isinstance(files, str):
        pytest.skip(files)
    chance = random.Random(table)
    columns = flat_columns(open_snapshot(GOLDEN / table))
    if not columns:
        pytest.skip("it has no column that predicates are made for")
    for _ in range(EACH):
        check_soundness(GOLDEN / table, random_predicate(chance, columns, files), files)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("table", sorted(skip_truth()))
def test_every_file_that_must_be_kept_is_among_those_to_read(table):
    if isinstance(readable(table), str):
        pytest.skip(readable(table))
    root = f"{GOLDEN / table}/"
    for case in skip_truth()[table]["predicates"]:
        try:
            plan = pr.plan(GOLDEN / table, where=case["predicate"], semantics=pr.SparkSemantics(time_zone="UTC"))
        except PredicateSyntaxError:
            continue  # a literal of an array
        read = {file.path.removeprefix(root) for file in plan.surviving_files}
        assert set(case["must_keep"]) <= read, case["predicate"]
