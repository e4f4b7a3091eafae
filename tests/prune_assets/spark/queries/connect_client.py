"""Plan by Columns of Spark Connect; writes the text of each, the rows expected, and those kept by Column and text."""

from __future__ import annotations

import json
import os
import sys

from column_kinds import kinds
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import prune_assets as pr


def main() -> None:
    (table,) = sys.argv[1:]
    # Spark's own tests have a server on a free port by this.
    os.environ["SPARK_TESTING"] = "1"
    session = SparkSession.builder.remote("local[1]").getOrCreate()
    found = []
    for column, most, text in kinds(fn):
        kept = [pr.plan(table, where=where, session=session).report.kept.rows for where in (column, text)]
        found.append([text, most, *kept])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
