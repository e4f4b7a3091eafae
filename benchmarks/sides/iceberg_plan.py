"""Ours: a snapshot and what a predicate on a partition value and two columns leaves of it, nothing kept anywhere."""

import json
import sys
import time

from benchmarks.iceberg import SCATTERED
from prune_assets.session.lower_predicate import lower_predicate
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.opening import open_table

started = time.perf_counter()
table = open_table(sys.argv[1], semantics=SparkSemantics())
answers = table.answers(lower_predicate(SCATTERED, table, session=None).predicate)
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "kept": int(answers.kept.sum())}))
