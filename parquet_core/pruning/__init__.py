"""Pruning: the predicate tree, evidence at its leaves, the levels in cost order, and the rows that are left.

`prune` is the door; the names resolve on first use, because a predicate is imported where no dataset is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use

if TYPE_CHECKING:
    from parquet_core.pruning.evaluation import Evaluation as Evaluation
    from parquet_core.pruning.evaluation import prune as prune
    from parquet_core.pruning.evaluation import row_groups_left_for_free as row_groups_left_for_free
else:
    __all__, __getattr__, __dir__ = on_first_use(__name__)
