"""Check the predicted row counts of Spark's own scans: every predicate of a family on one of its tables.

`python -m workload.foretold [table ...]` prints the number of correct predictions per table for the installed Spark.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from spark_reader_names import ALONE

import prune_assets as pr
from tests.fuzz.planner.session import own_session

from .fixture_lines import fixture_lines, known_to_be_off
from .judging import holds, reading
from .tables import TABLES, own_ground

# Files with bloom filters and short pages, files with pyarrow's pages, and Spark's own files without either.
FILES = ("lineitem_sorted", "events_arrow", "orders_by_month")


class Foretold(NamedTuple):
    """A predicate, the rows that Spark scanned, the predicted rows, and whether the prediction holds."""

    predicate: str
    scanned: int
    rows: int
    holds: bool


def predicates_of(table):
    """Return the predicates on any table of a family, except those with known wrong predictions."""
    family = {name for name in TABLES if name.partition("_")[0] == table.partition("_")[0]}
    off = [name.partition(": ")[2] for name in known_to_be_off()]
    found = dict.fromkeys(line.predicate for line in fixture_lines() if family & set(line.tables))
    return [predicate for predicate in found if not any(name.startswith(f"{predicate} (") for name in off)]


def foretold(ground, table, predicates):
    """Return the results of all predicates that Spark accepts; some name columns of another table."""
    frame, fingerprint, found = ground.frame(table), ground.fingerprint(table), []
    for predicate in predicates:
        try:
            scanned = reading(frame.where(predicate), fingerprint).scanned
        except (PySparkException, Py4JJavaError):
            continue
        report = pr.plan(ground.path(table), where=predicate, session=ground.spark).report
        (alone,) = [engine for engine in report.engines if engine.name == ALONE]
        found.append(Foretold(predicate, scanned, alone.kept.rows, holds(alone, scanned)))
    return found


def main(*tables):
    with own_session() as spark, own_ground(spark) as ground:
        for table in tables or FILES:
            found, whole = foretold(ground, table, predicates_of(table)), ground.frame(table).count()
            skipping = sum(one.scanned < whole for one in found)
            wrong = [one for one in found if not one.holds]
            print(f"{spark.version} {table}: {len(found)} predicates, {skipping} skip rows, {len(wrong)} otherwise")
            for one in wrong:
                print(f"  {one.predicate}: {one.rows} rows foretold, {one.scanned} scanned", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
