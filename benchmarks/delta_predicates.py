"""Two predicates with three conditions for the million-file table: with a partition value, and with statistics only."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from parquet_core.pruning.predicate import And, Compare, Op

_LATE = Compare(("id",), Op.GT, pa.scalar(500_000_000))
_CHEAP = Compare(("amount",), Op.LT, pa.scalar(Decimal("500.00"), pa.decimal128(12, 2)))
WITH_PARTITION = And((Compare(("region",), Op.EQ, pa.scalar("DE")), _LATE, _CHEAP))
STATISTICS_ALONE = And((Compare(("key",), Op.LT, pa.scalar("k8")), _LATE, _CHEAP))
