"""Prune row groups and pages with a predicate, level by level.

`prune` is the entry point; `selected_rows` evaluates the same predicate on rows that were read. The names resolve on
first use, because code that reads no dataset imports predicates too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use

if TYPE_CHECKING:
    from parquet_core.pruning.evaluation import Evaluation as Evaluation
    from parquet_core.pruning.evaluation import prune as prune
    from parquet_core.pruning.evaluation import row_groups_left_for_free as row_groups_left_for_free
    from parquet_core.pruning.row_selection import RowUse as RowUse
    from parquet_core.pruning.row_selection import refuse_unsupported as refuse_unsupported
    from parquet_core.pruning.row_selection import selected_rows as selected_rows
else:
    __all__, __getattr__, __dir__ = on_first_use(__name__)
