"""Plan by Columns of Spark Connect; writes the text of each, the rows expected, and those kept by Column and text."""

from __future__ import annotations

import json
import os
import sys
from decimal import Decimal

from column_kinds import kinds
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import prune_assets as pr
from prune_assets.spark.asking.connect_text import text_of_message


def main() -> None:
    (table,) = sys.argv[1:]
    # Spark's own tests have a server on a free port by this.
    os.environ["SPARK_TESTING"] = "1"
    session = SparkSession.builder.remote("local[1]").getOrCreate()
    found = []
    for column, most, text in kinds(fn):
        kept = [pr.plan(table, where=where, session=session).report.kept.rows for where in (column, text)]
        found.append([text, most, *kept])
    # The type that the server gives a decimal is the one that its text is cast to.
    decimals = [Decimal(number) for number in ("0", "1.50", "-0.001", "12345678901234567890.5", "1E+3")]
    texts = [text_of_message(fn.lit(number).to_plan(None)) for number in decimals]
    types = [field.dataType.simpleString() for field in session.range(1).select(*map(fn.lit, decimals)).schema]
    json.dump({"kept": found, "types": list(zip(texts, types, strict=True))}, sys.stdout)


if __name__ == "__main__":
    main()
