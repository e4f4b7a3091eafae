"""Refinements of a row order: smaller pages and row groups, and the cases in which they are not advised."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from made_tables import noise, put
from simulations import workspace_of

import prune_assets as pr
from prune_assets.advisor.candidates import Candidate, refined

ROWS = 200_000
USUAL = pr.LayoutSpec()


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Rows of 150 bytes in the order of `day`; each visitor has one, anywhere."""
    rng = np.random.default_rng(6)
    data = {"day": np.arange(ROWS) // 2_000, "visitor": rng.permutation(ROWS), "noise": noise(ROWS, 140, rng)}
    rows = pa.table(data)
    return put(rows, tmp_path_factory.mktemp("visits") / "t", pr.LayoutSpec(row_group_rows=ROWS))


def refine(source, wheres):
    return refined(
        workspace_of(source, wheres, ROWS, is_encoded=False),
        Candidate(pr.LayoutSpec(sort_by=["day"]), "days are asked for"),
    )


def test_row_groups_are_made_smaller_where_filters_deny_them(visits):
    best = refine(visits, ["visitor = 80007 AND day >= 0", "visitor = 120000"]).candidate
    assert set(best.layout.bloom) == {"visitor"}
    assert best.layout.row_group_bytes == 8 << 20
    assert best.title == "sort by day, bloom filter on visitor, row groups of 8.0 MiB"
    assert "rules out a whole row group or nothing" in best.why


def test_pages_are_made_as_fine_as_it_pays(visits):
    fine = refine(visits, ["day = 7", "day = 70"]).candidate
    assert fine.layout.page_rows == 2_000
    assert fine.layout.row_group_bytes == USUAL.row_group_bytes
    assert "even smaller pages skip more of these" in fine.why
    assert refine(visits, ["day < 80"]).candidate.layout == pr.LayoutSpec(sort_by=["day"])


def test_the_finest_pages_are_not_advised_where_finer_ones_were_not_worth_it(visits):
    """Of 142,000 selected rows, coarse pages read 160,000, pages of 5,000 rows 145,000, the smallest pages 142,000."""
    best = refine(visits, ["day BETWEEN 1 AND 71"])
    assert best.candidate.layout.page_rows == USUAL.page_rows
