"""Plans of Delta tables that delta-rs writes: every version, random tables and predicates, against their rows."""

from __future__ import annotations

import random

import pytest

from deltalog.snapshot.opening import open_snapshot
from tests.prune_assets.planner.delta_rows import check_soundness, rows_by_file, top_columns
from tests.prune_assets.planner.predicate_cases import FEW, random_predicate, random_table

deltalake = pytest.importorskip("deltalake")

PARTITIONS = [[], [], ["grade"], ["code"], ["flag", "day"], ["small"]]


def rows_of(table, start, count):
    """Copy rows: delta-rs takes no slice of a struct."""
    return table.take(list(range(start, start + count)))


def write(chance, path):
    """Append parts of a random table in several commits, delete some rows, overwrite others."""
    table = random_table(chance, rows=200)
    by = chance.choice(PARTITIONS)
    properties = deltalake.WriterProperties(
        max_row_group_size=chance.choice([20, 50, 1000]),
        data_page_row_count_limit=chance.choice([7, 1000]),
        write_batch_size=chance.choice([7, 1024]),
        default_column_properties=deltalake.ColumnProperties(dictionary_enabled=chance.random() < 0.7),
    )
    for i in range(3):
        part = rows_of(table, i * 60, 60)
        deltalake.write_deltalake(path, part, mode="append", partition_by=by or None, writer_properties=properties)
    written = deltalake.DeltaTable(path)
    if chance.random() < 0.5:
        written.delete(f"grade = {chance.choice(FEW['grade'])} or key > 20")
    if chance.random() < 0.5:
        written.optimize.compact()
    if chance.random() < 0.5:
        written.create_checkpoint()
        deltalake.write_deltalake(path, rows_of(table, 180, 20), mode="append")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(8))
def test_no_selected_row_of_any_version_is_skipped(seed, tmp_path):
    chance = random.Random(f"delta-rs {seed}")
    path = str(tmp_path / "t")
    write(chance, path)
    for version in range(deltalake.DeltaTable(path).version() + 1):
        snapshot = open_snapshot(path, version=version)
        files = rows_by_file(snapshot, top_columns(snapshot))
        if files is None:
            continue
        rows = sum(len(file.rows) for file in files.values())
        assert rows == deltalake.DeltaTable(path, version=version).to_pyarrow_table().num_rows
        for _ in range(12):
            check_soundness(path, random_predicate(chance), files, version=version)


def test_files_are_skipped_by_partition_values_and_statistics_before_they_are_opened(tmp_path):
    chance = random.Random("delta-rs skips")
    path = str(tmp_path / "t")
    write(chance, path)
    snapshot = open_snapshot(path)
    files = rows_by_file(snapshot, top_columns(snapshot))
    outcomes = [check_soundness(path, random_predicate(chance), files) for _ in range(60)]
    possible = sum(outcome.files for outcome in outcomes)
    assert sum(outcome.opened for outcome in outcomes) < 0.9 * possible
    assert any(outcome.proven for outcome in outcomes)
