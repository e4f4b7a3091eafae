"""The location of a finding is built from its parts, not extracted from text."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from prune_assets.checks.audit.claim_checks import Outside
from prune_assets.checks.audit.findings import ClaimSource, findings_of_claims


@pytest.mark.parametrize("name", ["id", "a, column b"])
def test_a_page_is_named_before_the_column(name):
    wrong = Outside(container=2, row=7, value=pa.scalar(1), bound=pa.scalar(3), containers=1)
    checked = SimpleNamespace(outside=lambda: [("min", wrong)], miscounts=lambda **_: [])
    source = ClaimSource("page", "the page", "t.parquet, row group 0", name)
    (finding,) = findings_of_claims(source, checked, as_text=False, whole=True)
    assert finding.location == f"t.parquet, row group 0, page 2, column {name}"
    assert finding.code == "page_bounds"
