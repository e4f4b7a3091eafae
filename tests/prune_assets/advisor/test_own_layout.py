"""User-defined layouts in the ranking: evaluated by the same simulation, and refused if they do not fit."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from made_tables import in_order, put

import prune_assets as pr
from parquet_core.errors import LayoutError
from prune_assets.advisor.result import LayoutAdvice
from prune_assets.advisor.sample import sample_of
from prune_assets.cli import main
from prune_assets.simulation.cut import cut_of
from prune_assets.spark.lower_predicate import semantics_for
from prune_assets.tables.opening import open_table

ROWS = 100_000
SIZES = {"page_rows": 1_000, "row_group_rows": 25_000}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    return pa.table({"id": np.arange(ROWS), "shop": rng.integers(0, 500, ROWS), "kind": rng.integers(0, 5, ROWS)})


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    return put(rows, tmp_path_factory.mktemp("shops") / "t", pr.LayoutSpec(**SIZES))


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """A table with a struct."""
    directory = tmp_path_factory.mktemp("nested")
    pq.write_table(pa.table({"shop": [1, 2], "place": [{"city": 1}, {"city": 2}]}), directory / "a.parquet")
    return str(directory)


@pytest.mark.parametrize(
    "layout", [{"sort_by": ["shop"]}, {"sort_by": ["kind", "shop"]}, {"zorder_by": ["shop", "kind"]}]
)
def test_it_reads_what_a_table_in_that_layout_reads(table, rows, tmp_path, layout):
    queries, layout = ["shop = 7", "kind = 3"], pr.LayoutSpec(**layout, **SIZES)
    advice = pr.advise(table, workload=queries, layout=layout)
    written = put(in_order(rows, layout), tmp_path / "t", layout)
    planned = sum(int(pr.plan(written, where=where).kept.bytes.sum()) for where in queries)
    assert advice.own.bytes == pytest.approx(planned, rel=0.15)
    assert advice.own.layout == layout


def test_columns_are_found_in_any_case(table):
    def bytes_of(**layout):
        return pr.advise(table, workload=["id = 55555"], layout=layout | SIZES).own.bytes

    exact = bytes_of(sort_by=["shop"], bloom={"id": 0.01})
    assert bytes_of(sort_by=["SHOP"], bloom={"Id": 0.01}) == exact
    assert exact < 0.7 * bytes_of(sort_by=["shop"])


def test_it_is_priced_as_the_ranking_is_and_changes_nothing_of_it(table):
    plain = pr.advise(table, workload=["shop = 7"])
    best = plain.advised
    advice = pr.advise(table, workload=["shop = 7"], layout=best.layout)
    assert plain.own is None
    assert (advice.own.bytes, advice.own.low, advice.own.high) == (best.bytes, best.low, best.high)
    assert advice.ranking == plain.ranking


def test_keys_that_no_query_filters_on_and_layouts_of_sizes_alone_are_priced(table):
    by_id = pr.advise(table, workload=["shop = 7"], layout={"sort_by": ["id"]}).own
    sizes = pr.advise(table, workload=["shop = 7"], layout={"page_rows": 20_000}).own
    assert by_id.bytes == pytest.approx(sizes.bytes, rel=0.05)


def test_it_is_in_every_form(table, tmp_path):
    file, html = tmp_path / "mine.yaml", tmp_path / "advice.html"
    file.write_text("sort_by: [kind, shop]\n")
    options = ["advise", table, "--predicate", "shop = 7", "--layout", str(file)]
    done = CliRunner().invoke(main, [*options, "--html", str(html)])
    assert done.exit_code == 0, done.output
    (line,) = (line for line in done.stdout.splitlines() if "your layout" in line)
    assert line.endswith("your layout: sort by kind, shop")
    assert "your layout: sort by kind, shop" in html.read_text()
    document = json.loads(CliRunner().invoke(main, [*options, "--json"]).stdout)
    assert document["own"].keys() == document["ranking"][0].keys()
    assert document["own"]["layout"]["sort_by"] == ["kind", "shop"]
    assert LayoutAdvice.from_json(json.dumps(document)).own.title == "sort by kind, shop"


def test_a_layout_that_takes_a_new_table_says_so(table):
    advice = pr.advise(table, workload=["kind = 3"], layout={"partition_by": ["kind"]})
    assert advice.own.bytes < 0.3 * advice.today
    assert advice.own.refused
    assert "needs a new table" in next(line for line in str(advice).splitlines() if "your layout" in line)


def test_it_is_verified_beside_the_ranking(table):
    layout = {"sort_by": ["kind", "id"]}
    advice = pr.advise(table, workload=["shop = 7", "kind = 3"], layout=layout)
    found = advice.verify(workload=["shop = 7", "kind = 3"])
    assert found.verified[-1].title == "your layout: sort by kind, id"
    assert len(found.verified) == 4
    assert found.verified[-1].median_error < 2.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sort_by: [shpo]", "sort_by: no column 'shpo'; did you mean"),
        ("zorder_by: [shop, nothere]", "zorder_by: no column 'nothere'; "),
        ("partition_by: [nothere]", "partition_by: no column 'nothere'; "),
        ("bloom: {shpo: 0.01}", "bloom: no column 'shpo'; did you mean"),
        ("sort_by: [place]", "sort_by: place is a struct, list or map; name a column of values"),
        ("sort_by: [place.city]", "sort_by: place.city is a field of place; give a top-level column"),
        ("sortby: [shop]", "unknown key 'sortby'; did you mean 'sort_by'?"),
    ],
)
def test_a_layout_that_does_not_fit_is_one_line_that_names_the_file(nested, tmp_path, text, message):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    done = CliRunner().invoke(main, ["advise", nested, "--predicate", "shop = 7", "--layout", str(file)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {file}: {message}")
    assert done.stderr.count("\n") == 1


def test_a_mapping_is_named_by_its_key(table):
    with pytest.raises(LayoutError, match=r"^sort_by: no column 'shpo'"):
        pr.advise(table, workload=["shop = 7"], layout={"sort_by": ["shpo"]})


@pytest.mark.parametrize("key", ["v", "v DESC", "v NULLS LAST", "v DESC NULLS FIRST"])
def test_nulls_lie_where_the_key_says(tmp_path, key):
    values = pa.table({"v": pa.array([3, None, 1, 2, None], pa.int64())})
    pq.write_table(values, tmp_path / "a.parquet")
    layout = pr.LayoutSpec(sort_by=[key])
    cut = cut_of(sample_of(open_table(tmp_path, semantics=semantics_for(None)), [("v",)], values, 5), layout, 8.0)
    (wanted,) = layout.sort_keys
    known = sorted([1, 2, 3], reverse=wanted.descending)
    expected = [*known, None, None] if wanted.nulls_last else [None, None, *known]
    assert values["v"].take(pa.array(cut.order)).to_pylist() == expected
