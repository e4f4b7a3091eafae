"""An audit reads the dictionaries, filters and page locations of many row groups at once."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.dataset import dictionaries
from parquet_core.dataset.dictionaries import Dictionaries
from parquet_core.dataset.page_indexes import PageIndexes
from prune_assets.checks.audit import file as audited_file

GROUPS = 100


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"a": pa.array(range(GROUPS * 4), pa.int64()), "s": [f"v{i % 9}" for i in range(GROUPS * 4)]})
    pq.write_table(table, path, row_group_size=4, write_page_index=True)
    return path


@pytest.fixture
def reads(monkeypatch):
    """Count the reads of evidence."""
    counts = Counter()

    def count(owner, name):
        real = getattr(owner, name)

        def counted(*arguments, **options):
            counts[name] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    count(Dictionaries, "read")
    count(PageIndexes, "locations")
    return counts


def test_evidence_of_row_groups_is_read_at_once(path, reads, monkeypatch):
    monkeypatch.setattr(audited_file, "_WINDOW_GROUPS", 64)
    report = pr.audit(path)
    assert report.is_true
    assert report.claims["dictionary"] == 2 * GROUPS
    assert report.claims["page_rows"] == 2 * GROUPS
    assert reads["read"] < 10
    assert reads["locations"] < 10


@pytest.mark.parametrize("groups", [1, 7, 1_000])
def test_windows_find_what_single_row_groups_do(path, monkeypatch, groups):
    def wrong(*arguments, place):
        taken.append(place)
        return "unreadable" if "row group 70," in place else real(*arguments, place=place)

    taken, real = [], dictionaries.read_dictionary
    monkeypatch.setattr(dictionaries, "read_dictionary", wrong)
    monkeypatch.setattr(audited_file, "_WINDOW_GROUPS", groups)
    report = pr.audit(path)
    assert report.is_true
    assert report.claims["dictionary"] == 2 * GROUPS - 2
    assert len(taken) == 2 * GROUPS


@pytest.mark.parametrize("groups", [1, 7, 1_000])
def test_row_groups_before_a_damaged_one_are_audited(path, groups, monkeypatch):
    metadata = pq.read_metadata(path)
    offset = metadata.row_group(70).column(0).dictionary_page_offset
    damaged = bytearray(path.read_bytes())
    damaged[offset : offset + 8] = b"\xff" * 8
    path.write_bytes(damaged)
    monkeypatch.setattr(audited_file, "_WINDOW_GROUPS", groups)
    report = pr.audit(path)
    (finding,) = report.findings
    assert finding.code == "unreadable"
    assert report.claims["dictionary"] == 70 + GROUPS
