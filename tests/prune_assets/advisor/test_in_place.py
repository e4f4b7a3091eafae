"""Layouts that `optimize` cannot apply are marked; advice for in-place use takes the best of the others."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from made_tables import put

import prune_assets as pr
from parquet_core.errors import PruneError, WrongUse

ROWS = 100_000
# Each query selects one kind, and within a kind one of two unrelated columns.
OF_A_KIND = [f"kind = {i} AND {name} = {9 * i}" for i in range(3) for name in ("shop", "item")]
APART = ["shop = 7", "shop = 300", "item = 7", "item = 300"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    data = {"shop": rng.integers(0, 500, ROWS), "item": rng.integers(0, 500, ROWS), "kind": rng.integers(0, 20, ROWS)}
    return pa.table(data)


@pytest.fixture(scope="module")
def plain(rows, tmp_path_factory):
    """Plain files."""
    return put(rows, tmp_path_factory.mktemp("plain") / "t", pr.LayoutSpec(row_group_rows=25_000, page_rows=10_000))


@pytest.fixture(scope="module")
def of_plain(plain):
    """Advice for a new table and for the plain files as they are, with directories however small these are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("prune_assets.advisor.candidates.LEAST_PARTITION_BYTES", 1)
        return [pr.advise(plain, workload=OF_A_KIND, in_place=in_place) for in_place in (False, True)]


def delta(rows, place, *actions, feature):
    """A Delta table with a feature of writers, as the first commit says."""
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(place), rows)
    file = place / "_delta_log" / f"{0:020d}.json"
    kept = [line for line in file.read_text().splitlines() if "protocol" not in json.loads(line)]
    features = [feature, "domainMetadata", "appendOnly", "invariants"]
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}}
    file.write_text("".join(f"{line}\n" for line in [json.dumps(protocol), *map(json.dumps, actions), *kept]))
    return str(place)


def clustered(rows, place):
    said = {"clusteringColumns": [["kind"]], "domainName": "delta.clustering"}
    domain = {"domain": "delta.clustering", "configuration": json.dumps(said), "removed": False}
    return delta(rows, place, {"domainMetadata": domain}, feature="clustering")


def test_directories_are_advised_for_a_new_table_and_not_for_the_one_that_is_there(of_plain):
    anew, advice = of_plain
    assert anew.advised.layout.partition_by == ("kind",)
    assert "optimize cannot change it" in anew.advised.refused
    assert f"optimize cannot give this table the layout: {anew.advised.refused}" in str(anew)
    assert (advice.advised.layout.partition_by, advice.advised.refused) == ((), "")
    assert advice.advised.bytes < advice.today / 2
    assert advice.advised == advice.ranking[0]
    (marked,) = [line for line in str(advice).splitlines() if "partition by kind" in line and "█" in line][:1]
    assert "needs a new table" in marked


def test_what_a_new_table_would_read_is_said_in_one_line(of_plain):
    _, advice = of_plain
    best = min((one for one in advice.ranking if one.refused), key=lambda one: one.bytes)
    assert best.bytes < 0.9 * advice.advised.bytes, "or it is not worth a word"
    assert advice.verdict.endswith("but needs a new table (prune write)")
    assert best.title in advice.verdict


def test_advice_for_a_new_table_is_not_applied_to_this_one(plain, of_plain):
    with pytest.raises(WrongUse, match=r"optimize cannot change it.*advise with in_place=True"):
        of_plain[0].apply(workload=OF_A_KIND)


def test_of_an_iceberg_table_a_z_order_is_advised_where_a_hilbert_curve_reads_less(rows, tmp_path):
    made = pytest.importorskip("tests.prune_assets.tables.iceberg.iceberg_tables")
    table = made.catalog_in(tmp_path).create_table("db.t", schema=rows.schema)
    table.append(rows)
    place = made.folder(table)
    assert any(one.layout.hilbert_by and one.refused for one in pr.advise(place, workload=APART).ranking)
    advice = pr.advise(place, workload=APART, in_place=True)
    assert advice.advised.layout.zorder_by
    assert not advice.advised.layout.hilbert_by


def test_of_a_clustered_table_keys_with_its_columns_are_advised(rows, tmp_path):
    place = clustered(rows, tmp_path / "t")
    workload = ["shop = 7", "shop = 300"]
    assert "clustered by kind" in pr.advise(place, workload=workload).advised.refused
    workload += ["kind = 3 AND shop = 9"]
    assert "kind" in pr.advise(place, workload=workload, in_place=True).advised.layout.sort_by


def test_a_table_that_cannot_be_rewritten_at_all_says_why(rows, tmp_path):
    place = delta(rows, tmp_path / "t", feature="rowTracking")
    assert "rowTracking" in pr.advise(place, workload=APART).advised.refused
    with pytest.raises(PruneError, match="rowTracking: rows must keep their ids"):
        pr.advise(place, workload=APART, in_place=True)
