"""Answers without Spark: the lowered predicate is interpreted row by row.

This checks the planner for the given predicate, many times faster than Spark; only Spark can show that the lowered
predicate is correct.
"""

from __future__ import annotations

import numpy as np

from parquet_core.errors import PruneError
from tests.prune_assets.sql.interpreter import outcomes_of

from .planned import refused
from .truth import FALSE, NULL, TRUE

_CODES = {True: TRUE, False: FALSE, None: NULL}


def interpreted(planner, predicate, rows):
    """Return TRUE, FALSE or NULL for each row, or the reason why there is no answer."""
    try:
        lowered = planner.lower(predicate.sql)
    except PruneError as error:
        return str(error)
    if reasons := refused(lowered):
        return reasons[0]
    found = [outcomes_of(lowered, row) for row in rows]
    if any(len(outcomes) > 1 for outcomes in found):
        return "a part of it may raise"
    return np.array([_CODES[outcome] for outcomes in found for outcome in outcomes], np.uint8)
