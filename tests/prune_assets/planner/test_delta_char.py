"""CHAR columns of Delta tables: compared with padding, so not by their statistics, and null where these say so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltalog
import prune_assets as pr

deltalake = pytest.importorskip("deltalake")

TEXTS = {"some": ["ab  ", None], "none": ["ab  ", "b   "], "all": [None, None]}
ROWS = pa.schema({"c": pa.string(), "s": pa.struct({"a": pa.string()})})


def field(name, kind, said=None):
    metadata = {} if said is None else {"__CHAR_VARCHAR_TYPE_STRING": said}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("char")
    struct = {"type": "struct", "fields": [field("a", "string")]}
    fields = [field("c", "string", "char(4)"), field("s", struct, "struct<a:char(4)>")]
    deltalog.create_table(path, json.dumps({"type": "struct", "fields": fields}))
    for name, column in TEXTS.items():
        rows = pa.table({"c": column, "s": [{"a": text} for text in column]}, schema=ROWS)
        pq.write_table(rows, path / f"{name}.parquet")
    snapshot = deltalog.open_snapshot(path)
    files = [deltalog.NewFile(f"{name}.parquet") for name in TEXTS]
    deltalog.append(snapshot, deltalog.adds_of(str(path), snapshot.schema, files))
    return str(path)


def kept(table, where):
    return {Path(file.path).stem for file in pr.plan(table, where=where).surviving_files}


@pytest.mark.parametrize("column", ["c", "s.a"])
@pytest.mark.parametrize(("test", "wanted"), [("IS NULL", True), ("IS NOT NULL", False)])
def test_exactly_the_files_are_kept_that_hold_such_a_row(table, column, test, wanted):
    truth = {name for name, texts in TEXTS.items() if wanted in [text is None for text in texts]}
    assert kept(table, f"{column} {test}") == truth
    assert pr.plan(table, where=f"{column} {test}").report.table_snapshot.opened_files == len(truth), (
        "the log alone tells"
    )
    assert kept(table, f"NOT ({column} {test})") != truth
    assert deltalake.DeltaTable(table).to_pyarrow_table()["c"].null_count == 3


@pytest.mark.parametrize("where", ["c = 'ab'", "c < 'a'", "c = 'zz'", "s.a = 'zz'"])
def test_no_file_is_skipped_by_bounds_of_unpadded_values(table, where):
    assert {"some", "none"} <= kept(table, where)
