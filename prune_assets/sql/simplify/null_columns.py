"""The name of a column that holds nothing but nulls, and so has no type, is NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import UnknownColumn
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.syntax.nodes import ColumnName, SparkLiteral
from prune_assets.sql.types.spark_values import Kind, SparkValue

if TYPE_CHECKING:
    from prune_assets.sql.binding.scope import Scope
    from prune_assets.sql.syntax.sqlglot_nodes import exp


def null_columns(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Put NULL where such a column is named, in place; by itself it is no condition, and stays."""
    for name in list(tree.find_all(ColumnName)):
        if name is not tree and _holds_nulls_only(name, scope):
            null = SparkLiteral(this=SparkValue(Kind.NULL))
            null.meta.update(name.meta)
            name.replace(null)
    return tree


def _holds_nulls_only(name: ColumnName, scope: Scope) -> bool:
    try:
        column = scope.resolve(name.parts_of_name).column
    except (PredicateTypeError, UnknownColumn):
        return False  # an error of the condition that it stands in
    return column is not None and column.type is not None and pa.types.is_null(column.type)
