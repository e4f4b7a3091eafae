"""1,493 predicates over tables of other implementations: the files that hold a live row of each, by brute force."""

from __future__ import annotations

import pytest
from golden import GOLDEN, MISSING, lowered, skip_truth

from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from prune_assets.errors import PredicateSyntaxError

pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason=MISSING)

# Literals of arrays, as no SQL of Spark's writes them.
NO_SPARK_SQL = 22


@pytest.mark.parametrize("table", sorted(skip_truth()))
def test_no_file_with_a_selected_row_is_skipped(table):
    snapshot = open_snapshot(GOLDEN / table)
    paths = snapshot.paths()
    for case in skip_truth()[table]["predicates"]:
        try:
            predicate = lowered(case["predicate"], snapshot.schema)
        except PredicateSyntaxError:
            continue
        kept = {path for path, keep in zip(paths, skip_files(snapshot, predicate).kept, strict=True) if keep}
        assert set(case["must_keep"]) <= kept, case["predicate"]


@pytest.mark.deep
def test_no_more_files_are_kept_than_delta_explain_keeps_where_its_answer_is_sound():
    # For single predicates, more files are kept here if a NaN may be outside of finite bounds, if a bound may have been
    # converted through a 64-bit float, or if the time zone is unknown.
    mine = theirs = refused = asked = 0
    for table, truth in skip_truth().items():
        snapshot = open_snapshot(GOLDEN / table)
        for case in truth["predicates"]:
            asked += 1
            try:
                predicate = lowered(case["predicate"], snapshot.schema)
            except PredicateSyntaxError:
                refused += 1
                continue
            other = case["delta_explain_kept"]
            if other is not None and other >= len(case["must_keep"]):
                mine += int(skip_files(snapshot, predicate).kept.sum())
                theirs += other
    assert asked == 1493
    assert refused == NO_SPARK_SQL
    assert mine <= theirs
