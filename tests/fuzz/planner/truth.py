"""Spark's own answers: predicates as columns of one query, in which nothing can be pushed down."""

from __future__ import annotations

from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException

from prune_assets.spark.spark_versions import to_arrow

TRUE, FALSE, NULL = 1, 0, 2
_NO = pa.scalar(value=False)
# Interpreted mode: the rows are few, and compiling a hundred predicates takes longer than evaluating them.
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.parquet.filterPushdown": "false",
}


class Truth:
    """Answers for a table: `of[i]` has TRUE, FALSE or NULL for each row, or is the error that Spark raised."""

    def __init__(self, spark, directory, predicates, planner):
        with settings(spark, SETTINGS):
            self._rows = spark.read.parquet(str(directory))
            self._planner = planner
            self.of = [None] * len(predicates)
            calm = [i for i, predicate in enumerate(predicates) if not predicate.risky]
            self._ask(calm, predicates)
            for i, predicate in enumerate(predicates):
                if predicate.risky:
                    self._ask([i], predicates)

    def _ask(self, chosen, predicates):
        """Evaluate all predicates in one query; split the list in halves if one raises."""
        if not chosen:
            return
        columns = [f"({predicates[i].sql}) AS p{i}" for i in chosen]
        try:
            found = to_arrow(self._rows.selectExpr("_metadata.file_path AS f", "_metadata.row_index AS r", *columns))
        except PySparkException as error:
            if len(chosen) == 1:
                self.of[chosen[0]] = str(error).split("\n", 1)[0]
            else:
                middle = len(chosen) // 2
                self._ask(chosen[:middle], predicates)
                self._ask(chosen[middle:], predicates)
            return
        rank = _ranks(found, self._planner)
        for i in chosen:
            answers = np.full(len(rank), NULL, np.uint8)
            column = found[f"p{i}"].combine_chunks()
            flags = pc.coalesce(column, _NO).to_numpy(zero_copy_only=False)
            known = column.is_valid().to_numpy(zero_copy_only=False)
            answers[rank] = np.where(known, flags, NULL)
            self.of[i] = answers


def _ranks(places, planner):
    """Return the position in the table of every row that Spark returned, in Spark's order."""
    first, row = {}, 0
    counts = np.bincount(
        planner.index.groups.file, weights=planner.index.groups.row_count, minlength=len(planner.paths)
    )
    for path, count in zip(planner.paths, counts.astype(int).tolist(), strict=True):
        first[path], row = row, row + count
    paths, numbers = places["f"].to_pylist(), places["r"].to_pylist()
    found = np.array(
        [first[unquote(urlsplit(path).path)] + number for path, number in zip(paths, numbers, strict=True)]
    )
    assert sorted(found.tolist()) == list(range(planner.rows)), "Spark reads the rows that the plan is about"
    return found


@contextmanager
def settings(spark, wanted):
    """Set session options, and restore the earlier values afterwards."""
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)
