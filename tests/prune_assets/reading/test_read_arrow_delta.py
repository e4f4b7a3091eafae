"""`read_arrow` of Delta tables from other writers returns the same rows as `read` through Spark."""

from __future__ import annotations

from shutil import rmtree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import prune_assets as pr
from parquet_core.errors import UnknownColumn, UnsupportedFeature
from tests.peers.delta_matrix import GOLDEN
from tests.peers.plain_rows import plain_rows

# With partitions, deletion vectors, column mapping and names that are escaped.
TABLES = [
    "basic-dv-no-checkpoint",
    "dv-partitioned-with-checkpoint",
    "data-reader-escaped-chars",
    "data-skipping-basic-stats-all-types-columnmapping-name",
    "data-reader-array-primitives",
    "data-reader-nested-struct",
]


@pytest.mark.spark
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_of_read(spark, name):
    table = GOLDEN / name
    if not table.is_dir():
        pytest.skip(f"{table} is not there")
    wanted = pr.read(str(table), where="true", session=spark).toArrow().to_pylist()
    assert wanted
    assert plain_rows(pr.read_arrow(str(table)).to_pylist()) == plain_rows(wanted)
    assert pr.count(str(table)) == len(wanted)


def test_lists_maps_and_structs_of_other_writers_are_read(tmp_path):
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "tags": [["a", None], None, []],
            "rates": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "place": [{"lat": 1.5, "codes": [1, 2]}, None, {"lat": None, "codes": None}],
        }
    )
    table = str(tmp_path / "t")
    write_deltalake(table, rows)
    assert pr.read_arrow(table).to_pylist() == rows.to_pylist()
    # Files that were written before the column was there have nulls.
    more = rows.append_column("later", pa.array([[7], [], None]))
    write_deltalake(table, more, mode="append", schema_mode="merge")
    found = pr.read_arrow(table, columns=["id", "later"]).to_pylist()
    assert sorted(map(repr, found)) == sorted(
        map(repr, [*({"id": i, "later": None} for i in (1, 2, 3)), *more.select(["id", "later"]).to_pylist()])
    )


PARTITIONS = {
    "double": (
        pa.float64(),
        [0.0, -0.0, 1.5, 0.1, 1e30, float("nan"), float("-inf"), None],
        {"p > 1": 3, "isnan(p)": 1},
    ),
    "float": (pa.float32(), [0.0, 0.1, 16777216.0, float("nan"), None], {"p = 0": 1, "p > 1": 2, "p < 0.2": 2}),
    "binary": (pa.binary(), [b"a", b"\x01", b"\xff\x00", None], {"p IS NULL": 1, "p >= X'00'": 3}),
}


@pytest.mark.parametrize(("kind", "values", "selected"), PARTITIONS.values(), ids=PARTITIONS)
def test_partition_values_that_are_numbers_or_bytes_are_read(tmp_path, kind, values, selected):
    """The values equal the values that delta-rs reads; it writes bytes as escaped text, which readers do not undo."""
    table = str(tmp_path / "t")
    write_deltalake(table, pa.table({"p": pa.array(values, kind), "k": range(len(values))}), partition_by=["p"])
    theirs = DeltaTable(table).to_pyarrow_table().sort_by("k")
    ours = pr.read_arrow(table).sort_by("k")
    assert list(map(repr, ours["p"].to_pylist())) == list(map(repr, theirs["p"].to_pylist()))
    assert ours["p"].type == kind
    for where, count in selected.items():
        assert pr.count(table, where=where) == len(pr.read_arrow(table, where=where)) == count, where


def test_partition_bytes_that_are_text_beyond_ascii_are_read(tmp_path):
    """Spark writes the bytes as text in UTF-8."""
    table = tmp_path / "t"
    write_deltalake(str(table), pa.table({"p": ["é", "b"], "k": [0, 1]}), partition_by=["p"])
    log = table / "_delta_log" / f"{0:020}.json"
    log.write_text(
        log.read_text().replace(
            '{\\"name\\":\\"p\\",\\"type\\":\\"string\\"', '{\\"name\\":\\"p\\",\\"type\\":\\"binary\\"'
        )
    )
    assert pr.read_arrow(str(table)).sort_by("k")["p"].to_pylist() == ["é".encode(), b"b"]
    assert pr.count(str(table), where="p = X'C3A9'") == 1


@pytest.mark.spark
@pytest.mark.parametrize("is_delta", [True, False])
def test_files_that_name_the_entries_of_lists_in_other_ways_are_read(spark, tmp_path, is_delta):
    values = [["a", None], None, [], ["b"], ["c", "d"]]
    rows = [{"id": i, "tags": tags, "rates": [("k", [i, None])]} for i, tags in enumerate(values)]
    schema = {"id": pa.int64(), "tags": pa.list_(pa.string()), "rates": pa.map_(pa.string(), pa.list_(pa.int64()))}
    written = pa.Table.from_pylist(rows, pa.schema(schema))
    table = tmp_path / "t"
    for _ in range(2):
        write_deltalake(str(table), written, mode="append")
    log = table / "_delta_log" / f"{1:020}.json"
    (again,) = [file for file in table.glob("*.parquet") if file.name in log.read_text()]
    size = again.stat().st_size
    pq.write_table(written, again, use_compliant_nested_type=True)
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{again.stat().st_size}'))
    paths = {pq.ParquetFile(file).metadata.schema.column(1).path for file in table.glob("*.parquet")}
    assert paths == {"tags.list.element", "tags.list.item"}
    if not is_delta:
        rmtree(table / "_delta_log")
    wanted = pr.read(str(table), where="id >= 0", session=spark).toArrow().to_pylist()
    assert plain_rows(wanted) == plain_rows(2 * rows)
    assert plain_rows(pr.read_arrow(str(table), where="id >= 0").to_pylist()) == plain_rows(wanted)
    assert pr.read_arrow(str(table), columns=["tags"], where="id = 3").to_pylist() == 2 * [{"tags": ["b"]}]


def test_lists_under_physical_names_are_refused_by_name(tmp_path):
    table = tmp_path / "t"
    write_deltalake(str(table), pa.table({"id": [1], "places": [[{"lat": 1.5}]]}))
    log = table / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('\\"name\\":\\"lat\\"', '\\"name\\":\\"latitude\\"'))
    with pytest.raises(UnsupportedFeature, match=r"column 'places'.*the table declares.*latitude"):
        pr.read_arrow(str(table))
    assert pr.read_arrow(str(table), columns=["id"]).to_pylist() == [{"id": 1}]


@pytest.mark.parametrize("name", ["place.lat", "PLACE.lat", "place.codes.element"])
def test_a_part_of_a_column_is_refused_by_the_name_of_the_whole(name, tmp_path):
    write_deltalake(str(tmp_path / "t"), pa.table({"id": [1], "place": [{"lat": 1.5, "codes": [1]}]}))
    for given in ({"columns": [name]}, {"columns": ["id"], "order_by": f"`{name}`"}):
        with pytest.raises(UnknownColumn, match=rf"{name}: parts of a column cannot be selected; give place$"):
            pr.read_arrow(str(tmp_path / "t"), **given)
    with pytest.raises(UnknownColumn, match=r"unknown column id\.x: did you mean id\?"):
        pr.read_arrow(str(tmp_path / "t"), columns=["id.x"])
