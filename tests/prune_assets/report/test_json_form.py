from __future__ import annotations

import json
from dataclasses import fields, replace
from importlib.resources import files
from typing import get_args, get_origin, get_type_hints

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from report_factory import make_report

from prune_assets.report.json_form import json_schema, schema_text
from prune_assets.report.skip_report import Extent, Level, SkipReport

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


def read_back(text):
    return msgspec.convert(json.loads(text), SkipReport)


whole = st.integers(-(2**63), 2**64 - 1)
st.register_type_strategy(int, whole)


# Every list of a report holds others: a few elements each are as many as can be drawn.
FEW = {
    name: st.lists(st.from_type(get_args(hint)[0]), max_size=2).map(tuple)
    for name, hint in get_type_hints(SkipReport).items()
    if get_origin(hint) is tuple
}


@given(st.builds(SkipReport, **FEW, schema=st.just("skip-report/1")))
def test_every_report_survives_the_round_trip(report):
    assert read_back(report.to_json()) == report


def test_is_one_compact_line_with_fields_in_order_of_declaration(report):
    text = report.to_json()
    assert "\n" not in text
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    assert list(json.loads(text)) == [field.name for field in fields(SkipReport)]


def test_unknown_page_counts_stay_unknown():
    extent = Extent(1, 1, None, 10, 100)
    report = make_report(files=1, total=extent)
    assert json.loads(report.to_json())["total"]["pages"] is None
    assert read_back(report.to_json()).total.pages is None


def test_a_file_name_that_is_not_utf8_survives():
    report = make_report(files=1, path=lambda _: "/lake/caf\udce9.parquet")
    text = report.to_json()
    text.encode()
    assert read_back(text) == report


def test_checked_in_schema_is_that_of_the_dataclasses():
    checked_in = files("prune_assets.report").joinpath("skip-report-1.schema.json").read_text("utf-8")
    assert checked_in == schema_text(), (
        "python -m prune_assets.report.json_form > prune_assets/report/skip-report-1.schema.json"
    )


def test_schema_requires_every_field_and_pins_the_version():
    schema = json_schema()
    assert schema["required"] == [field.name for field in fields(SkipReport)]
    assert schema["properties"]["schema"] == {"const": "skip-report/1"}
    assert set(schema["$defs"]["Level"]["required"]) == {field.name for field in fields(Level)}


def test_schema_resolves_every_reference():
    schema = json_schema()
    references = {node["$ref"] for node in nodes(schema) if "$ref" in node}
    assert references == {f"#/$defs/{name}" for name in schema["$defs"]}


def nodes(value):
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(child)


def test_equal_reports_have_equal_text(report):
    assert replace(report).to_json() == report.to_json()
