from __future__ import annotations

import json
from dataclasses import fields, replace
from importlib.resources import files

import jsonschema
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.inspection import FileInspection, TableInspection, inspect_file, inspect_table, read_row_groups
from prune_assets.report.inspection.json_form import file_json, json_schema, schema_text
from prune_assets.report.output import json_text


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "0.parquet"
    table = pa.table({"a": list(range(100)), "b": [b"\xff"] * 100, "c": [float("inf")] * 100, "d": [None] * 100})
    pq.write_table(
        table,
        path,
        row_group_size=30,
        max_rows_per_page=10,
        write_page_index=True,
        bloom_filter_options={"a": {"ndv": 30, "fpp": 0.01}},
        sorting_columns=[pq.SortingColumn(0)],
    )
    return read_dataset(path)


def whole(index, *, pages=True):
    found = inspect_file(index, index.groups.columns, bloom="7")
    return found, list(read_row_groups(index, index.groups.columns, np.arange(len(index)), pages=pages))


@pytest.mark.parametrize("pages", [True, False])
def test_the_parts_make_the_json_of_the_whole(index, pages):
    found, groups = whole(index, pages=pages)
    text = "".join(file_json(found, groups))
    assert text == msgspec.json.encode(replace(found, row_groups=tuple(groups))).decode()
    assert "\n" not in text
    assert list(json.loads(text)) == [field.name for field in fields(FileInspection)]


def test_a_file_without_row_groups_is_json_too(index):
    found, _ = whole(index)
    assert json.loads("".join(file_json(found, [])))["row_groups"] == []


def test_both_forms_fulfil_the_schema(index):
    found, groups = whole(index)
    of_file = json.loads("".join(file_json(found, groups)))
    of_table = json.loads(json_text(inspect_table("t", index, index.groups.columns, bloom="7")))
    validator = jsonschema.Draft202012Validator(json_schema())
    for value in (of_file, of_table):
        validator.validate(value)
        assert list(validator.iter_errors(value | {"schema": "inspection/2"}))
        assert list(validator.iter_errors(value | {"rows": None}))
    assert list(of_table) == [field.name for field in fields(TableInspection)]
    assert (of_file["kind"], of_table["kind"]) == ("file", "table")


def test_bounds_are_whole_and_say_what_they_are(index):
    found, groups = whole(index)
    value = json.loads("".join(file_json(found, groups)))
    bounds = {chunk["column"]: (chunk["lower"], chunk["upper"]) for chunk in value["row_groups"][0]["chunks"]}
    assert bounds == {"a": (0, 29), "b": ({"hex": "ff"}, {"hex": "ff"}), "c": ("inf", "inf"), "d": (None, None)}


def test_a_long_bound_is_not_cut(tmp_path):
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"a": ["x" * 3000]}), path)
    index = read_dataset(path)
    value = json.loads("".join(file_json(*whole_of(index))))
    assert value["row_groups"][0]["chunks"][0]["lower"] == "x" * 3000
    assert value["columns"][0]["upper"] == "x" * 3000


def whole_of(index):
    return inspect_file(index, index.groups.columns), read_row_groups(
        index, index.groups.columns, np.arange(len(index)), pages=False
    )


def test_a_file_name_that_is_not_utf8_survives(index):
    found, groups = whole(index)
    text = "".join(file_json(replace(found, path="/lake/caf\udce9.parquet"), groups))
    text.encode()
    assert json.loads(text)["path"] == "/lake/caf\udce9.parquet"


def test_the_checked_in_schema_is_that_of_the_dataclasses():
    checked_in = files("prune_assets.report").joinpath("inspection-1.schema.json").read_text("utf-8")
    assert checked_in == schema_text(), (
        "python -m prune_assets.report.inspection.json_form > prune_assets/report/inspection-1.schema.json"
    )


def test_the_schema_is_one_and_requires_every_field():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for form in (FileInspection, TableInspection):
        assert set(schema["$defs"][form.__name__]["required"]) == {field.name for field in fields(form)}
