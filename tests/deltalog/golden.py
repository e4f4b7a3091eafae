"""The golden tables, the results of other readers for them, and their predicates."""

from __future__ import annotations

import datetime as dt
import json
import re
from functools import cache
from pathlib import Path

import pyarrow as pa

from deltalog.errors import BrokenLog, MalformedLog, NotADeltaTable, UnsupportedTable
from parquet_core.pruning.predicate import And, Compare, In, Interval, IsNull, IsTruth, Not, Op, Or, Unsupported
from prune_assets.sql.lower import lower
from prune_assets.sql.semantics import SparkSemantics

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "delta"
MISSING = f"{GOLDEN} is not there: the golden Delta tables are not part of the project"
# Tables that readers must refuse, and the errors.
REFUSED = {
    "deltalog-state-reconstruction-without-metadata": (MalformedLog, "no metaData"),
    "deltalog-state-reconstruction-without-protocol": (MalformedLog, "no protocol"),
    "versions-not-contiguous": (BrokenLog, "commit 1 is missing"),
    "no-delta-log-folder": (NotADeltaTable, "not a Delta table"),
    "data-reader-absolute-paths-escaped-chars": (MalformedLog, "no metaData"),
    "catalog-owned-preview": (UnsupportedTable, "catalogManaged"),
    "simple_table_features": (UnsupportedTable, "reader version 5"),
    "table_c": (BrokenLog, "commit 12 is missing"),
}
_TIME = r"TIMESTAMP '([^']*)'"


def tables():
    """Return the names of the golden tables; empty if they are not installed."""
    return sorted(path.stem for path in (GOLDEN / "_expected").glob("[!_]*.json"))


@cache
def expected(table):
    return json.loads((GOLDEN / "_expected" / f"{table}.json").read_text())["versions"]


@cache
def skip_truth():
    path = GOLDEN / "_expected" / "_skip_truth.json"
    return json.loads(path.read_text()) if path.is_file() else {}


def lowered(sql, schema):
    """Return the predicate with comparisons of times inserted, which SQL does not lower yet; sessions are in UTC."""
    tree = lower(sql, schema.leaves, semantics=SparkSemantics(time_zone="UTC")).predicate
    return _with_times(tree, {column.leaf.path: column.leaf for column in schema.columns})


def _with_times(node, leaves):
    match node:
        case And(children):
            return And(tuple(_with_times(child, leaves) for child in children))
        case Or(children):
            return Or(tuple(_with_times(child, leaves) for child in children))
        case Not(child):
            return Not(_with_times(child, leaves))
        case IsTruth(child, truth):
            return IsTruth(_with_times(child, leaves), truth)
        case Unsupported(sql):
            return _time_leaf(sql, leaves) or node
    return node


def _time_leaf(sql, leaves):
    if sql.startswith("NOT (") and (inside := _time_leaf(sql[4:], leaves)):
        return Not(inside)
    found = re.fullmatch(r"\(?`?([\w]+)`? ([^)]*|IN \([^)]*\))\)?", sql)
    leaf = leaves.get((found[1],)) if found else None
    if leaf is None or leaf.type is None or not pa.types.is_timestamp(leaf.type):
        return None
    values = [_scalar(text, leaf.type) for text in re.findall(_TIME, found[2])]
    shape = re.sub(_TIME, "?", found[2])
    if shape == "IS NULL":
        return IsNull(leaf.path)
    if shape == "IS NOT NULL":
        return Not(IsNull(leaf.path))
    if shape == "BETWEEN ? AND ?":
        return Interval(leaf.path, *values)
    if shape.startswith("IN ("):
        distinct = list(dict.fromkeys(value.as_py() for value in values))
        return In(leaf.path, pa.array(distinct, leaf.type))
    return Compare(leaf.path, Op(shape.removesuffix(" ?")), values[0])


def _scalar(text, kind):
    moment = dt.datetime.fromisoformat(text)
    return pa.scalar(moment.replace(tzinfo=dt.UTC) if kind.tz else moment, kind)
