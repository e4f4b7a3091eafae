from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import dagster as dg
import pytest

from parquet_core.errors import LayoutError
from prune_assets.dagster.partitions import partition_predicate

KINDS = {"day": "date", "at": "timestamp", "text": "string", "number": "bigint"}


def predicate(partitions, column, *keys):
    window = None
    if keys and isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        window = partitions.time_window_for_partition_key(keys[0])
    context = SimpleNamespace(
        asset_partitions_def=partitions, asset_partition_keys=keys, asset_partitions_time_window=window
    )
    return partition_predicate(context, column, KINDS)


def test_a_day_that_is_parted_further_is_not_replaced_whole():
    hours = dg.HourlyPartitionsDefinition(start_date=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(LayoutError, match="shorter than a day"):
        predicate(hours, "day", "2024-01-01-23:00")
    assert predicate(hours, "at", "2024-01-01-23:00") == (
        "at >= TIMESTAMP '2024-01-01 23:00:00Z' AND at < TIMESTAMP '2024-01-02 00:00:00Z'"
    )


def test_an_input_without_a_partition_has_no_rows():
    assert predicate(dg.DailyPartitionsDefinition(start_date="2024-01-01"), "day") == "false"
    assert predicate(dg.StaticPartitionsDefinition(["a"]), "text") == "false"


def test_names_of_days_may_be_texts_or_numbers():
    days = dg.DailyPartitionsDefinition(start_date="20240101", fmt="%Y%m%d")
    assert predicate(days, "text", "20240102") == "text IN ('20240102')"
    assert predicate(days, "number", "20240102") == "number IN (20240102)"
