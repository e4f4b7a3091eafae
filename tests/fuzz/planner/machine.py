"""Draw tables and predicates, check every plan, and keep failing cases.

A seed and a table number always give the same table and predicates.
"""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import dataclass, field

import duckdb
import polars as pl
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .checks import Finding, Tally, judged
from .fixtures import save
from .forms import Scope
from .ground import laid_out
from .predicates import random_predicate
from .shrinking import shrink
from .spellings import Pair, random_pair
from .tables import random_table

PREDICATES, PAIRS = 100, 25  # of a table
MOST_FINDINGS = 10
UNREADABLE = (PySparkException, Py4JError, pa.ArrowException, duckdb.Error, pl.exceptions.PolarsError)


@dataclass
class Result:
    tally: Tally = field(default_factory=Tally)
    tables: int = 0
    unreadable: int = 0
    reasons: list[str] = field(default_factory=list)
    findings: list[tuple[int, Finding, object]] = field(default_factory=list)
    seconds: float = 0.0


def draw(seed, number, *, by_spark=True):
    """Return a table, its predicates and its pairs of spellings."""
    chance = random.Random(f"{seed} {number}")
    table = random_table(chance, by_spark=by_spark)
    names = {part.split("=")[0] for file in table.files for part in file.directory.split("/") if part}
    scope = Scope(table.columns, tuple(sorted(names)))
    pairs = [random_pair(chance, scope) for _ in range(PAIRS)]
    predicates = [random_predicate(chance, scope) for _ in range(PREDICATES)]
    return table, predicates, pairs


def run(spark, *, seed, count, seconds=float("inf"), first=0, keep=None, peers=True, progress=None):
    """Check at least `count` cases from table `first` on.

    `keep`: directory for reduced failing cases. If `spark` is None, Spark writes no table and gives no answers.
    """
    result, start = Result(), time.monotonic()
    number, told = first, start
    while result.tally.cases < count and time.monotonic() - start < seconds and len(result.findings) < MOST_FINDINGS:
        _judge_table(spark, seed, number, result, peers=peers, keep=keep)
        number += 1
        result.seconds = time.monotonic() - start
        if progress and time.monotonic() - told > 10:
            told = time.monotonic()
            progress(result, number)
    result.seconds = time.monotonic() - start
    return result


def _judge_table(spark, seed, number, result, *, peers, keep):
    table, predicates, pairs = draw(seed, number, by_spark=spark is not None)
    seen = set()
    with contextlib.ExitStack() as stack:
        try:
            ground = stack.enter_context(laid_out(table, spark))
            truth = ground.truth(predicates)
        except UNREADABLE as error:
            # Not every writer supports every value, and Spark does not read every mixture of types.
            result.unreadable += 1
            result.reasons.append(f"table {number}: {str(error).splitlines()[0][:200]}")
            return
        asked, voice = (ground.peers() if peers else ()), ground.second_voice()
        result.tables += 1
        found = []
        for predicate, answers in zip(predicates, truth, strict=True):
            found += [
                (finding, predicate)
                for finding in judged(ground, predicate, answers, result.tally, peers=asked, voice=voice)
            ]
        for pair in pairs:
            found += [(finding, pair) for finding in judged(ground, pair, None, result.tally)]
    for finding, case in found:
        path = None
        if keep is not None and finding.check not in seen:
            path = keep_smallest(spark, table, case, finding, keep)
        seen.add(finding.check)
        result.findings.append((number, finding, path))


def findings_of(spark, table, case):
    """Return the findings of one case: a predicate or a pair of spellings."""
    with laid_out(table, spark) as ground:
        (answers,) = [None] if isinstance(case, Pair) else ground.truth([case])
        return judged(ground, case, answers, Tally(), peers=ground.peers(), voice=ground.second_voice())


def keep_smallest(spark, table, case, finding, directory):
    """Reduce a failing case and write it to a file; return the path."""

    def fails(table, case):
        try:
            return any(other.check == finding.check for other in findings_of(spark, table, case))
        except Exception:  # noqa: BLE001 - a table that cannot be made any more is no smaller case
            return False

    table, case = shrink(table, case, fails)
    return save(finding.check, case, table, directory)
