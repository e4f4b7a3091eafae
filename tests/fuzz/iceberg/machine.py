"""Draw tables and predicates, and check every read; a seed and a table number always give the same table."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from planner.forms import Scope
from planner.predicates import random_predicate
from planner.tables import ROW
from planner.truth import settings
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .judging import Tally, judge
from .making import make
from .tables import random_table

PREDICATES = 40  # of a table
MOST_FINDINGS = 25
INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass
class Result:
    tally: Tally = field(default_factory=Tally)
    tables: int = 0
    unmade: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    seconds: float = 0.0


class Ground:
    """A table, its rows as Spark reads them without a filter, and the file of each row."""

    def __init__(self, spark, name, path):
        from pyiceberg.table import StaticTable

        from prune_assets.tables.iceberg.session_catalog import current_metadata

        self.spark, self.name, self.path = spark, name, path
        self.rows = spark.table(name).selectExpr("*", "_file").localCheckpoint()
        self.file_of = {row[0]: row[1].removeprefix("file:") for row in self.rows.select(ROW, "_file").collect()}
        self.pyiceberg = StaticTable.from_metadata(current_metadata(name, spark))

    def truth(self, predicates):
        """Return the rows that each predicate selects; None if Spark raises."""
        found = [None] * len(predicates)
        calm = [i for i, predicate in enumerate(predicates) if not predicate.risky]
        for chosen in [calm, *([i] for i, predicate in enumerate(predicates) if predicate.risky)]:
            self._ask(chosen, predicates, found)
        return found

    def _ask(self, chosen, predicates, found):
        """Evaluate all predicates in one query; split the list in halves if one raises."""
        if not chosen:
            return
        try:
            rows = self.rows.selectExpr(ROW, *(f"({predicates[i].sql}) AS p{i}" for i in chosen)).collect()
        except PySparkException:
            if len(chosen) > 1:
                middle = len(chosen) // 2
                self._ask(chosen[:middle], predicates, found)
                self._ask(chosen[middle:], predicates, found)
            return
        for i in chosen:
            found[i] = sorted(row[0] for row in rows if row[f"p{i}"])


def draw(seed, number):
    """Return a table and its predicates."""
    chance = random.Random(f"{seed} {number}")
    table = random_table(chance)
    scope = Scope(table.columns)
    return table, [random_predicate(chance, scope) for _ in range(PREDICATES)]


def run(spark, lake, *asked):
    """Judge predicates from table `first` on; `lake`: where the catalog has its tables; seed, count, seconds, first."""
    seed, count, seconds, first = asked
    spark.sparkContext.setLogLevel("OFF")
    result, start, number = Result(), time.monotonic(), first
    while result.tally.cases < count and time.monotonic() - start < seconds and len(result.findings) < MOST_FINDINGS:
        _judge_table(spark, Path(lake), seed, number, result)
        number += 1
        result.seconds = time.monotonic() - start
        told = f"seed {seed}, table {number}: {result.tally.cases:,} predicates, {len(result.findings)} findings"
        print(f"{told}, {result.seconds:.0f} s", file=sys.stderr, flush=True)  # noqa: T201 - of a process of its own
    return result


def run_trusting(spark, *asked):
    """Run with all conditions pushed down to Iceberg, including those by which Iceberg loses rows."""
    with patch("prune_assets.tables.iceberg.reading_with_iceberg.doubted_columns", lambda *_: frozenset()):
        return run(spark, *asked)


def _judge_table(spark, lake, seed, number, result):
    table, predicates = draw(seed, number)
    name, scratch = f"lake.db.t{number}", Path(tempfile.mkdtemp(prefix="fuzz-"))
    with settings(spark, {"spark.sql.session.timeZone": table.zone, **INTERPRETED}):
        try:
            make(spark, table, name, scratch)
            ground = Ground(spark, name, str(lake / "db" / f"t{number}"))
        except (PySparkException, Py4JError) as error:
            result.unmade.append(f"table {number}: {' '.join(str(error).split())[:300]}")
            return
        finally:
            shutil.rmtree(scratch)
        result.tables += 1
        found = judge(ground, [it.sql for it in predicates], ground.truth(predicates), result.tally)
        result.findings += [(number, finding) for finding in found]
        spark.sql(f"DROP TABLE {name} PURGE")
