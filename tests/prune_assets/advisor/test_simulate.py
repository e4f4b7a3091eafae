"""Predictions for layouts, compared with plans of tables that are written in these layouts without Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from made_tables import KINDS, in_order, put
from simulations import workspace_of

import prune_assets as pr
from prune_assets.advisor.simulate import simulate

ROWS, PAGE, GROUP = 400_000, 2_000, 50_000
LAYOUTS = {
    "uniform": [
        {"sort_by": ["a"]},
        {"sort_by": ["b", "a"]},
        {"zorder_by": ["a", "b"]},
        {"hilbert_by": ["a", "b", "c"]},
    ],
    "dated": [
        {"sort_by": ["day"]},
        {"sort_by": ["year", "customer"]},
        {"sort_by": ["ship", "id"]},
        {"hilbert_by": ["day", "customer"]},
    ],
    "skewed": [
        {"sort_by": ["city"]},
        {"sort_by": ["status", "n"]},
        {"sort_by": ["url"]},
        {"hilbert_by": ["city", "n"]},
    ],
    "with_nulls": [{"sort_by": ["a"]}, {"sort_by": ["rare", "a"]}, {"sort_by": ["closed"]}, {"zorder_by": ["a", "f"]}],
}


@pytest.fixture(scope="module", params=KINDS)
def written(request, tmp_path_factory):
    """A table, and for each layout the parts of the bytes that its predicates keep once it was written."""
    directory = tmp_path_factory.mktemp(request.param)
    rows, wheres = KINDS[request.param](ROWS, np.random.default_rng(7))
    # Arrow cuts no bounds of texts, other than Spark.
    sizes = {"page_rows": PAGE, "row_group_rows": GROUP, "files": 2, "column_index_truncate_length": 1_000}
    if "rare" in rows.column_names:
        # The first page of a file, of 2,000 rows, decides on its dictionaries, and here often has nulls alone: files of
        # one table differ, while parquet-java decides for each row group, as the simulation does.
        sizes["dictionary"] = dict.fromkeys(("a", "rare", "closed"), False)
    source = put(rows, directory / "source", pr.LayoutSpec(**sizes), files=3)
    layouts = [pr.LayoutSpec(**sizes, **order) for order in LAYOUTS[request.param]]
    kept = []
    for i, layout in enumerate(layouts):
        table = put(in_order(rows, layout), directory / f"{i}", layout, files=2)
        plans = [pr.plan(table, where=where) for where in wheres]
        kept.append([plan.kept.bytes.sum() / plan.sizes.bytes.sum() for plan in plans])
    return source, wheres, layouts, np.array(kept)


def predicted(source, wheres, layouts, sample_rows):
    workspace = workspace_of(source, wheres, sample_rows)
    return np.array([np.divide(*simulate(workspace, layout)) for layout in layouts])


@pytest.mark.sampled(4)
def test_predictions_are_exact_for_a_whole_table_and_within_five_points_for_a_sample(written):
    """One test, because writing the tables takes as long as all predictions."""
    bytes_of_a_table_that_is_sampled_whole_are_exact_to_two_points(written)
    for part, within_five_points in ((0.25, 0.95), (0.05, 0.8)):
        of_a_sample_most_predictions_are_within_five_points(written, part, within_five_points)


def bytes_of_a_table_that_is_sampled_whole_are_exact_to_two_points(written):
    source, wheres, layouts, kept = written
    errors = 100 * np.abs(predicted(source, wheres, layouts, ROWS) - kept)
    assert np.median(errors) < 0.2
    assert errors.max() < 2.5, _worst(errors, wheres, layouts)


def of_a_sample_most_predictions_are_within_five_points(written, part, within_five_points):
    # The predicates look for the ends of ranges and for values in a few rows, which 20,000 sampled rows hardly have.
    source, wheres, layouts, kept = written
    samples = [predicted(source, wheres, layouts, int(part * ROWS) + more) for more in (0, 60, 150)]
    errors = 100 * np.abs(np.concatenate(samples) - np.concatenate([kept] * len(samples)))
    assert np.median(errors) < 1
    # Of 227 rows of 400,000 a sample of a quarter has 57, give or take 7: the part of the pages that have one is
    # predicted at 67 % with a standard deviation of 5 points, in 40 samples, where 68 % are expected of random rows.
    most = np.array([10 if "rare" in where else 5 for where in wheres])
    least = within_five_points
    least -= 0.03 * any("'city-49999'" in where for where in wheres)
    assert np.mean(errors <= most) >= least, _worst(errors, wheres, layouts)


def test_texts_that_begin_alike_are_told_apart_by_row_groups_alone(tmp_path):
    texts = [f"{'x' * 64}{i:06}" for i in range(80_000)]
    sizes = {"page_rows": 1_000, "row_group_rows": 10_000, "files": 1, "sort_by": ["text"]}
    source = put(pa.table({"text": texts}), tmp_path / "t", pr.LayoutSpec(**sizes))
    layouts = [pr.LayoutSpec(**sizes), pr.LayoutSpec(**sizes, column_index_truncate_length=100)]
    cut, whole = predicted(source, [f"text = '{texts[4_321]}'"], layouts, 80_000)
    assert cut == pytest.approx(1 / 8, rel=0.01)
    assert whole == pytest.approx(1 / 80, rel=0.01)


def _worst(errors, wheres, layouts):
    layout, where = np.unravel_index(errors.argmax(), errors.shape)
    layout %= len(layouts)
    order = {
        name: value for name in ("sort_by", "zorder_by", "hilbert_by") if (value := getattr(layouts[layout], name))
    }
    return f"{order}: {wheres[where]} is off by {errors.max():.1f} points; within 5: {np.mean(errors <= 5):.3f}"
