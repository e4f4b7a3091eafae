from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, fields
from importlib.resources import files
from types import MappingProxyType

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import LayoutError, WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets import dagster
from prune_assets.cli import main
from prune_assets.components.lake import TableRule
from prune_assets.components.layout_checks import CheckedTable
from prune_assets.components.pruned_table import PrunedTableComponent
from prune_assets.writing.layout_file import layout_schema, load_layout, schema_text


@pytest.fixture
def layout_file(tmp_path):
    def write(text):
        path = tmp_path / "layout.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_full_layout_is_read_as_written(layout_file):
    path = layout_file("""
        sort_by: [day, id]
        bloom: {id: 0.01, name: 0.5}
        page_rows: 1000
        page_bytes: 2000
        row_group_rows: 3000
        row_group_bytes: 4000
        files: 5
        compression: snappy
    """)
    assert load_layout(path) == LayoutSpec(
        ("day", "id"), {"id": 0.01, "name": 0.5}, 1000, 2000, 3000, 4000, 5, "snappy"
    )


def test_absent_keys_have_the_defaults_of_a_layout(layout_file):
    assert load_layout(layout_file("sort_by: [day]\nfiles: null")) == LayoutSpec(sort_by=("day",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sortby: [day]", "unknown key 'sortby'; did you mean 'sort_by'?"),
        ("page_row: 7", "unknown key 'page_row'; did you mean 'page_rows'?"),
        (
            "sortby: [day]\nrow_group_row: 7\npage_rows: many",
            "unknown key 'sortby'; did you mean 'sort_by'? unknown key 'row_group_row'; did you mean 'row_group_rows'?",
        ),
        ("zzz: 1\nx: 2", "unknown keys 'zzz' and 'x'; known keys are sort_by, bloom, "),
        ("zzz: 1", "unknown key 'zzz'; known keys are sort_by, bloom, "),
        ("1: 2", "unknown key 1; known keys are"),
        ("page_rows: many", "page_rows = 'many': expected a whole number, got a string; write the number in full"),
        ("row_group_rows: 100k", "row_group_rows = '100k': expected a whole number or null, got a string"),
        ("page_rows: 1.5", "page_rows = 1.5: expected a whole number, got a number"),
        ("page_rows: true", "page_rows = True: expected a whole number, got true or false"),
        ("page_rows: null", "page_rows = None: expected a whole number, got null"),
        ("page_rows: 0", "page_rows = 0: must be a whole number of at least 1"),
        ("page_rows: '20000'", "YAML reads this as text: write it in full, without quotes"),
        ("sort_by: day", "sort_by = 'day': expected a list, got a string; give a list of column names"),
        ("sort_by: [a, 1]", "sort_by = ['a', 1]: expected a string, got a whole number - at sort_by[1]"),
        (
            "bloom: [a]",
            "bloom = ['a']: expected a mapping, got a list; give columns with their values, e.g. {id: 0.01}",
        ),
        ("bloom: {a: 0.1, b: x}", "bloom['b'] = 'x': expected a number, got a string"),
        ("bloom: {a: 1e-2}", "bloom['a'] = '1e-2': expected a number, got a string; YAML reads this as text"),
        (
            "bloom: {no: 0.1}",
            "bloom[False] = False: expected a string, got true or false; YAML reads yes, no, on and off",
        ),
        ("bloom: {a: 1}", "bloom['a'] = 1.0: a false-positive probability is between 0 and 1"),
        ("compression: foo", "compression = 'foo': choose one of zstd, snappy, gzip, "),
        ("page_rows: 1\npage_rows: 2", ":2:1: not valid YAML (duplicate key 'page_rows')"),
        ("bloom: {a: 0.1, a: 0.2}", ":1:17: not valid YAML (duplicate key 'a')"),
        ("sort_by: [a", ":1:12: not valid YAML (expected ',' or ']'"),
        ("a: !!python/object/apply:os.system [true]", "not valid YAML (could not determine a constructor"),
        ("bloom: &b {a: *b}", "not valid YAML (aliases (*name) are not read"),
        (b"\xff\xfe\xff", "not valid YAML"),
        ("", "holds no keys; write at least `sort_by: [column]`"),
        ("{}", "holds no keys"),
        ("- sort_by", "holds a list, and a layout has keys with values, e.g. `sort_by: [day]`"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_file_and_key(layout_file, text, said):
    path = layout_file(text)
    with pytest.raises(LayoutError) as raised:
        load_layout(path)
    assert str(raised.value).startswith(str(path))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_aliases_that_multiply_are_refused_at_once(layout_file):
    lines = [
        "a0: &a0 {x: 1}",
        *(f"a{i}: &a{i} {{{', '.join(f'k{j}: *a{i - 1}' for j in range(9))}}}" for i in range(1, 12)),
    ]
    start = time.process_time()
    with pytest.raises(LayoutError, match=r":2:14: not valid YAML \(aliases"):
        load_layout(layout_file("\n".join(lines)))
    assert time.process_time() - start < 1


@pytest.mark.parametrize("text", ["page_rows: " + "9" * 10_000, "a: !!timestamp x", "a: 2001-99-99", "a: !!int ''"])
def test_values_that_the_loader_trips_over_are_no_yaml(layout_file, text):
    with pytest.raises(LayoutError, match="not valid YAML"):
        load_layout(layout_file(text))


def test_pipes_and_large_files_are_no_layouts(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * 300_000)
    for name, said in (("pipe", "is a pipe.*: save it as a file"), ("large", "300,000 bytes are too large")):
        with pytest.raises(LayoutError, match=said):
            load_layout(tmp_path / name)


def test_a_missing_file_is_wrong_use(tmp_path):
    with pytest.raises(LayoutError, match=r"gone\.yaml: cannot be read \(No such file or directory\)"):
        load_layout(tmp_path / "gone.yaml")


def test_checked_in_schema_is_that_of_the_dataclass():
    checked_in = files("prune_assets.writing").joinpath("layout.schema.json").read_text("utf-8")
    assert checked_in == schema_text(), (
        "python -m prune_assets.writing.layout_file > prune_assets/writing/layout.schema.json"
    )


def test_schema_knows_each_key_and_no_other():
    schema = layout_schema()
    assert list(schema["properties"]) == [field.name for field in fields(LayoutSpec)]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("key", ["page_rows", "page_bytes", "row_group_rows", "row_group_bytes", "files"])
def test_schema_and_layout_agree_on_the_least_number(layout_file, key):
    part = layout_schema()["properties"][key]
    (number,) = [option for option in part.get("anyOf", [part]) if option["type"] == "integer"]
    load_layout(layout_file(json.dumps({key: number["minimum"]})))
    with pytest.raises(LayoutError):
        load_layout(layout_file(json.dumps({key: number["minimum"] - 1})))


def test_schema_and_layout_agree_on_probabilities(layout_file):
    probability = layout_schema()["properties"]["bloom"]["additionalProperties"]
    for edge in ("exclusiveMinimum", "exclusiveMaximum"):
        with pytest.raises(LayoutError):
            load_layout(layout_file(json.dumps({"bloom": {"a": probability[edge]}})))


def test_schema_and_layout_agree_on_codecs(layout_file):
    for codec in layout_schema()["properties"]["compression"]["enum"]:
        assert load_layout(layout_file(f"compression: {codec}")).compression == codec


TEXT = "sort_by: [id]\nbloom: {id: 0.01}\n"
LAYOUT = LayoutSpec(sort_by=["id"], bloom={"id": 0.01})


def test_a_layout_is_a_path_a_text_a_mapping_or_itself(layout_file):
    path = layout_file(TEXT)
    for given in (
        path,
        str(path),
        {"sort_by": ("id",), "bloom": {"id": 0.01}},
        MappingProxyType(asdict(LAYOUT)),
        LAYOUT,
    ):
        assert pr.load_layout(given) == LAYOUT


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sortby": ["id"]}, "layout: unknown key 'sortby'; did you mean 'sort_by'?"),
        ({"page_rows": "many"}, "layout: page_rows = 'many': expected a whole number, got a string"),
        (7, "load_layout: layout=7 is an int; give a LayoutSpec, a dict, a str or a Path"),
        (None, "load_layout: layout is None; give a LayoutSpec, a dict, a str or a Path"),
        ("s3://bob:secret@lake/layout.yaml", "a layout is a local file; copy it to this machine"),
        ("gone/layout.yaml", "cannot be read (No such file or directory); name a layout file, e.g. layout.yaml"),
        ("layouts.yaml", "cannot be read (No such file or directory); did you mean layout.yaml?"),
    ],
)
def test_what_is_no_layout_is_refused_in_one_line(layout_file, monkeypatch, given, message):
    monkeypatch.chdir(layout_file(TEXT).parent)
    with pytest.raises(WrongUse) as raised:
        pr.load_layout(given)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


def parts(definition):
    """Return the layout that Dagster shows."""
    return definition.metadata_by_key[definition.key]["prune/layout"].data


# Each function creates a layout from its argument, and returns it as a mapping or as a LayoutSpec.
TAKERS = {
    "table": lambda given: parts(dagster.LayoutTable("t", "t", layout=given).asset_from("SELECT 1")),
    "pruned": lambda given: parts(dagster.LayoutTable("t", "t", layout=given).asset(lambda: None)),
    "kept": lambda given: asdict(dagster.LayoutTable("t", "t", layout=given).layout),
    "rule": lambda given: asdict(TableRule(match="*", layout=given).layout),
    "checked": lambda given: asdict(CheckedTable(asset=dg.AssetKey("t"), table="t", layout=given).layout),
    "component": lambda given: asdict(
        PrunedTableComponent(asset=dg.AssetSpec("t"), table="t", source="SELECT 1", layout=given).layout
    ),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_all_of_dagster_takes_a_path_a_mapping_and_a_layout(layout_file, taker):
    for given in (layout_file(TEXT), {"sort_by": ["id"], "bloom": {"id": 0.01}}, LAYOUT):
        assert pr.load_layout(TAKERS[taker](given)) == LAYOUT
    with pytest.raises(LayoutError, match="did you mean 'sort_by'"):
        TAKERS[taker]({"sortby": ["id"]})


def test_what_is_written_and_what_is_claimed_are_both_paths(layout_file):
    path, claimed = layout_file(TEXT), {"sort_by": ["day"]}
    one, same = (
        dagster.LayoutTable("t", "t", layout=claimed).asset_from("SELECT 1", written_as=written)
        for written in (path, LAYOUT)
    )
    assert one.code_versions_by_key == same.code_versions_by_key


def test_checks_take_a_path_wherever_they_run(layout_file, tmp_path):
    table = tmp_path / "t"
    table.mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), table / "0.parquet", write_page_index=True)
    path = layout_file(TEXT)
    assert pr.check(table, layout=path) == pr.check(table, layout=LAYOUT)
    told = pr.optimize(table, layout=str(path), dry_run=True)
    assert len(told.picked) == len(pr.optimize(table, layout=LAYOUT, dry_run=True).picked) == 1
    results = list(dagster.LayoutTable("t", table, layout=path).checks()(dg.build_asset_check_context()))
    assert [result.check_name for result in results if not result.passed] == ["bloom_filters_present"]


@pytest.mark.spark
def test_a_write_and_an_io_manager_take_a_path(spark, layout_file, tmp_path):
    path = layout_file(TEXT)
    pr.write(spark.range(9), tmp_path / "t", layout=path)
    assert not [one for one in pr.check(tmp_path / "t", layout=path) if one.severity == "error"]

    @dg.asset(metadata={"prune/layout": str(path)}, io_manager_key="tables")
    def ids():
        return spark.range(9)

    resource = dagster.SparkSessionResource()
    tables = dagster.PrunedTableIOManager(root=str(tmp_path / "lake"), spark=resource)
    assert dg.materialize([ids], resources={"tables": tables, "spark": resource}).success
    assert not [one for one in pr.check(tmp_path / "lake/ids", layout=path) if one.severity == "error"]


def test_a_column_that_the_table_lacks_is_named_with_the_file_of_the_layout(tmp_path, layout_file):
    table = tmp_path / "t"
    table.mkdir()
    pq.write_table(pa.table({"ts": [1]}), table / "0.parquet")
    layout = layout_file("sort_by: [tss]")
    problem = f"{layout}: sort_by: the table has no column tss: did you mean ts?"
    for ask in (lambda of: pr.check(table, layout=of), lambda of: pr.optimize(table, layout=of, dry_run=True)):
        with pytest.raises(LayoutError) as refused:
            ask(layout)
        assert str(refused.value) == problem
        with pytest.raises(LayoutError) as refused:
            ask({"sort_by": ["tss"]})
        assert str(refused.value).startswith("sort_by: ")
    for command in (["check", table, "--layout", layout], ["optimize", table, "--layout", layout, "--dry-run"]):
        assert CliRunner().invoke(main, [*map(str, command)]).stderr == f"error: {problem}\n"
