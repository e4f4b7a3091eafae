"""Files and bytes that statements opened and rewrote, from logs of delta-spark, Databricks and delta-rs."""

from __future__ import annotations

import deltalake
import pyarrow as pa
import pytest

import deltalog
from deltalog.snapshot.row_changes import FileTotals, amplification, row_changes
from tests.deltalog.golden import GOLDEN, MISSING
from tests.deltalog.merge_logs import MERGE, add, log_of, remove


def changes(place, **options):
    return row_changes(deltalog.open_snapshot(place), **options)


def with_parameters(**parameters):
    return MERGE | {"operationParameters": MERGE["operationParameters"] | parameters}


def test_a_merge_of_delta_spark_opens_the_whole_table(tmp_path):
    (merge,) = changes(log_of(tmp_path, [MERGE, remove(3), add(20, size=90)]))
    assert (merge.version, merge.operation, merge.predicate) == (1, "MERGE", "(k#946L = k#389L)")
    assert merge.join_keys == ("k",)
    assert (merge.table, merge.opened, merge.rewritten) == (
        FileTotals(20, 2000),
        FileTotals(20, 2000),
        FileTotals(1, 100),
    )
    assert (merge.source_rows, merge.changed_rows, merge.inserted_rows) == (20, 20, 0)
    assert (merge.scan_ms, merge.rewrite_ms, merge.execution_ms) == (3166, 1031, 4479)
    assert amplification([merge]).ratio == 20


CONDITIONAL = '[{"predicate":"(k#1L < 9)","actionType":"update"}]'


@pytest.mark.parametrize(
    ("info", "why"),
    [
        (with_parameters(predicate='["((k#9L = k#3L) AND (k#9L > 7))"]'), "a condition on the table alone"),
        (with_parameters(matchedPredicates=CONDITIONAL, notMatchedPredicates="[]"), "all clauses have a condition"),
        (MERGE | {"engineInfo": "Databricks-Runtime/16.0.x-photon-scala2.12"}, "dynamic file pruning"),
        (MERGE | {"engineInfo": None, "clusterId": "1213-060555-65cx1s8v-v2n"}, "dynamic file pruning"),
        (MERGE | {"operationParameters": {}}, "no condition in the log"),
        (MERGE | {"operationMetrics": {"num_target_files_scanned": 0}}, "a wrong count of delta-rs"),
        (MERGE | {"engineInfo": "delta-rs:py-1.6.6"}, "delta-rs skips partitions"),
        ({"operation": "UPDATE", "operationParameters": {"predicate": '["(k#3L = 1)"]'}}, "files are skipped"),
    ],
)
def test_opened_files_are_unknown_where_some_may_have_been_skipped(tmp_path, info, why):
    (change,) = changes(log_of(tmp_path, [info, remove(3), add(20)]))
    assert (change.opened, change.rewritten, change.table) == (
        FileTotals(),
        FileTotals(1, 100),
        FileTotals(20, 2000),
    ), why
    assert amplification([change]).ratio is None


@pytest.mark.parametrize(
    "more",
    [
        {
            "notMatchedBySourcePredicates": '[{"actionType":"delete"}]',
            "predicate": '["((k#9L = k#3L) AND (k#9L > 7))"]',
        },
        {"matchedPredicates": CONDITIONAL},
        {"matchedPredicates": [{"actionType": "update"}], "notMatchedPredicates": []},
    ],
)
def test_clauses_by_which_no_file_is_skipped(tmp_path, more):
    (change,) = changes(log_of(tmp_path, [with_parameters(**more), remove(3), add(20)]))
    assert change.opened == FileTotals(20, 2000)


def test_recorded_files_count(tmp_path):
    metrics = {"num_target_files_scanned": 4, "num_target_files_skipped_during_scan": 16, "num_source_rows": 2}
    few = {"operation": "MERGE", "operationParameters": {"mergePredicate": "t.k = s.k"}, "operationMetrics": metrics}
    recorded = few | {"operationMetrics": {"numTargetFilesAfterSkipping": "4", "numTargetBytesAfterSkipping": "399"}}
    later, earlier = changes(log_of(tmp_path, [few, remove(3), add(20)], [recorded, remove(20), add(21)]))
    assert (earlier.opened, later.opened) == (FileTotals(4, None), FileTotals(4, 399))
    # Bytes of one statement are unknown, so files are compared.
    assert amplification([later, earlier]).ratio == 4


def test_a_deletion_vector_counts_as_a_rewrite_of_its_file(tmp_path):
    vector = {"storageType": "i", "pathOrInlineDv": "a", "sizeInBytes": 1, "cardinality": 1}
    unsized = remove(3)
    del unsized["remove"]["size"]
    (change,) = changes(log_of(tmp_path, [MERGE, unsized, add(3, deletionVector=vector), add(20)]))
    assert (change.rewritten, change.table) == (FileTotals(1, 100), FileTotals(20, 2000))


def test_the_table_at_each_statement(tmp_path):
    write, optimize = {"operation": "WRITE"}, {"operation": "OPTIMIZE"}
    place = log_of(
        tmp_path,
        [MERGE, remove(3), add(20, size=90)],
        [write, add(21, size=1000)],
        [{"operation": "COMPUTE STATS"}, add(21, size=1000, dataChange=False)],
        [MERGE, add(22)],
        [optimize, *map(remove, range(3)), add(23, size=300, dataChange=False)],
        [MERGE, remove(4), add(24)],
    )
    found = changes(place)
    assert [(each.version, each.table) for each in found] == [
        (6, FileTotals(20, 3090)),
        (4, FileTotals(21, 2990)),
        (1, FileTotals(20, 2000)),
    ]
    assert [each.rewritten for each in found] == [FileTotals(1, 100), FileTotals(0, 0), FileTotals(1, 100)]
    assert amplification(found) == (3, FileTotals(61, 8080), FileTotals(2, 200))
    assert [each.version for each in changes(place, limit=2)] == [6, 4]
    assert changes(place, most=1, operations=("DELETE",)) == []


def test_sizes_are_unknown_before_a_removed_file_of_unknown_size(tmp_path):
    unsized = remove(4)
    del unsized["remove"]["size"]
    later, earlier = changes(log_of(tmp_path, [MERGE, remove(3), add(20)], [MERGE, unsized, add(21)]))
    assert (later.table, later.rewritten) == (FileTotals(20, None), FileTotals(1, None))
    assert (earlier.table, earlier.rewritten) == (FileTotals(20, None), FileTotals(1, 100))
    assert amplification([later, earlier]).ratio == 20


def test_commits_that_log_cleanup_removed_end_the_search(tmp_path):
    place = log_of(tmp_path, [MERGE, remove(3), add(20)], [MERGE, remove(4), add(21)], [MERGE, remove(5), add(22)])
    snapshot = deltalog.open_snapshot(place)
    del snapshot.listing.commits[2]
    assert [each.version for each in row_changes(snapshot)] == [3]


def test_statements_of_delta_rs(tmp_path):
    for first in range(0, 50, 10):
        rows = pa.table({"id": range(first, first + 10), "v": ["a"] * 10})
        deltalake.write_deltalake(tmp_path, rows, mode="append")
    table = deltalake.DeltaTable(tmp_path)
    source = pa.table({"id": [3, 4, 99], "v": ["b", "b", "b"]})
    merge = table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    table.update(updates={"v": "'q'"}, predicate="id = 17")
    table.delete("id = 28")
    deleted, updated, merged = changes(tmp_path)
    assert (merged.join_keys, merged.source_rows, merged.changed_rows, merged.inserted_rows) == (("id",), 3, 2, 1)
    assert merged.opened == merged.table
    assert (merged.table.files, merged.rewritten.files) == (5, 1)
    assert 4 < amplification([deleted, updated, merged]).ratio < 6
    assert (updated.operation, updated.predicate, updated.opened.files, updated.changed_rows) == (
        "UPDATE",
        "id = 17",
        None,
        1,
    )
    assert (deleted.operation, deleted.predicate, deleted.rewritten.files, deleted.changed_rows) == (
        "DELETE",
        "id = 28",
        1,
        1,
    )


@pytest.mark.skipif(not GOLDEN.exists(), reason=MISSING)
def test_statements_of_databricks():
    found = {each.version: each for each in changes(GOLDEN / "compacted-log-files-table")}
    assert [each.operation for each in found.values()].count("MERGE") == 2
    merge = found[18]
    assert (merge.predicate, merge.join_keys) == ("(id#5058 = id#5062)", ("id",))
    assert (merge.source_rows, merge.changed_rows, merge.inserted_rows, merge.scan_ms) == (3, 1, 2, 935)
    assert (merge.opened, merge.rewritten) == (FileTotals(), FileTotals(1, 907))
