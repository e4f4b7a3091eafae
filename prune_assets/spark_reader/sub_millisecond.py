"""Comparisons of a column of milliseconds with values that may have microseconds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from prune_assets.sql.syntax.nodes import name_parts
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.syntax.parsed import ParsedPredicate

# A floored literal makes these of too few; the others, as they stand, of no less.
_LOSING = (exp.LT, exp.NEQ, exp.NullSafeNEQ)
_LOSING_MIRRORED = (exp.GT, exp.NEQ, exp.NullSafeNEQ)
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_MICROSECONDS = re.compile(r":\d\d\.\d{3}\d*[1-9]")


def compares_finely(conjuncts: Sequence[ParsedPredicate | None], columns: Sequence[LeafColumn]) -> tuple[str, ...]:
    """Return the columns of milliseconds of which Spark asks `<` or `<>` with what may have microseconds.

    Where it is no plain literal that is compared, it may have some.
    """
    of_millis = {column.path[-1].casefold(): column.name for column in columns if _is_millis(column)}
    if not of_millis:
        return ()
    found: dict[str, None] = {}
    for parsed in filter(None, conjuncts):
        for node in parsed.tree.find_all(*_COMPARISONS, exp.Between, exp.In):
            names = {name_parts(name)[-1].casefold() for name in node.find_all(exp.Column)} & of_millis.keys()
            if names and _loses(node) and _may_be_fine(node, parsed.text(node)):
                found |= {of_millis[name]: None for name in names}
    return tuple(found)


def _is_millis(column: LeafColumn) -> bool:
    kind = column.type
    return kind is not None and pa.types.is_timestamp(kind) and kind.unit == "ms"


def _loses(node: exp.Expr) -> bool:
    if node.find_ancestor(exp.Not) is not None:
        return True
    column_first = isinstance(node.this, exp.Column)
    return isinstance(node, _LOSING if column_first else _LOSING_MIRRORED)


def _may_be_fine(node: exp.Expr, text: str) -> bool:
    plain = all(isinstance(part, (exp.Column, exp.Literal)) for part in node.iter_expressions())
    return not plain or _MICROSECONDS.search(text) is not None
