"""prune-assets: seconds from text to plan for long and deep predicates on a table of 1,000 files."""

import json
import sys
import time

from prune_assets.planner.explain.plan import plan
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics


def chain(connective: str, terms: list[str]) -> str:
    """Join terms by AND or OR."""
    return f" {connective} ".join(terms)


FEW = chain("OR", [f"(l_orderkey = {i * 37} AND l_comment = 'a{i}')" for i in range(100)])
PREDICATES = {
    "OR of 10,000 equalities": chain("OR", [f"l_orderkey = {i * 37}" for i in range(10_000)]),
    "AND of 10,000 inequalities": chain("AND", [f"l_orderkey <> {i * 37}" for i in range(10_000)]),
    "OR of 1,000 ranges of two columns": chain(
        "OR", [f"(l_orderkey > {i * 37} AND l_partkey < {i})" for i in range(1_000)]
    ),
    "IN of 100,000": f"l_orderkey IN ({', '.join(str(i * 6) for i in range(100_000))})",
    "NOT IN of 100,000 strings": f"l_comment NOT IN ({', '.join(map(repr, map(str, range(100_000))))})",
    "5,000 signs": f"l_orderkey = {'- ' * 5_000}1",
    "2,000 levels": "".join(f"(l_orderkey = {i} {'AND' if i % 2 else 'OR'} " for i in range(2_000))
    + "l_partkey = 1"
    + ")" * 2_000,
}

columns = plan(sys.argv[1], where="l_orderkey > 5 AND l_partkey > 5").index.groups.columns
found = {}
started = time.perf_counter()
lower(FEW, columns, semantics=SparkSemantics())
found["lowering 200 terms"] = time.perf_counter() - started
for name, where in PREDICATES.items():
    started = time.perf_counter()
    plan(sys.argv[1], where=where)
    found[name] = time.perf_counter() - started
print(json.dumps(found))
