"""Name resolution: the columns, literals and functions that names stand for in a table and session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import UnknownColumn
from prune_assets.errors import PredicateTypeError
from prune_assets.sql.binding.bind import why_not
from prune_assets.sql.functions.registry import find
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.nodes import ColumnName, SparkLiteral
from prune_assets.sql.syntax.sqlglot_nodes import exp

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_core.format.schema import LeafColumn
    from parquet_core.predicate import Path
    from prune_assets.sql.binding.scope import Bound, Scope
    from prune_assets.sql.types.spark_values import SparkValue


class NameResolver:
    """Resolves the parts of predicates on one table; `is_own` tells whether a name still is that of Spark's function.

    `binary_as_string`: what Spark reads of bytes that the file does not call text.
    """

    def __init__(self, scope: Scope, is_own: Callable[[str], bool] | None, *, binary_as_string: bool) -> None:
        self._scope = scope
        self._is_own = is_own
        self._binary_as_string = binary_as_string

    def column(self, node: exp.Expr) -> LeafColumn:
        """Return the column that a name means; raises Refusal where there is none to prune on."""
        bound = self._bound(node)
        if bound.column is None:
            raise Refusal(bound.reason, bound.remedy)
        if self._binary_as_string and pa.types.is_binary(bound.column.type):
            raise Refusal("with spark.sql.parquet.binaryAsString Spark reads a string here")
        return bound.column

    def null_path(self, node: ColumnName) -> Path | None:
        """Return the path of a name that is asked for null alone; None of a column that holds nothing else."""
        bound = self._bound(node)
        column = self.column(node) if bound.nullable is None else bound.nullable
        return None if column.type is not None and pa.types.is_null(column.type) else column.path

    def _bound(self, node: exp.Expr) -> Bound:
        if not isinstance(node, ColumnName):
            raise why_not(node)
        return self._scope.resolve(node.parts_of_name)

    def column_of(self, parts: tuple[str, ...]) -> LeafColumn | None:
        """Return the column that a name in a rewrite means, None when there is none to prune on."""
        try:
            return self._scope.resolve(parts).column
        except (PredicateTypeError, UnknownColumn):
            return None

    def value(self, node: exp.Expr) -> SparkValue:
        """Return the value of a literal; raises Refusal for one in double quotes that may be a column."""
        assert isinstance(node, SparkLiteral)
        value = node.spark_value
        if value.name is not None and self._scope.has(value.name):
            raise Refusal(
                "in double quotes this is a string or a column, as spark.sql.ansi.doubleQuotedIdentifiers says",
                "write 'string' or `column`",
            )
        return value

    def is_boolean(self, node: ColumnName) -> bool:
        """Tell whether a name means a column of booleans."""
        column = self._scope.resolve(node.parts_of_name).column
        return column is not None and pa.types.is_boolean(column.type)

    def check_names(self, node: exp.Expr) -> None:
        """Raise UnknownColumn, or PredicateTypeError for a name of two columns, for any name in a part."""
        for name in node.find_all(ColumnName):
            self._scope.resolve(name.parts_of_name)

    def is_own(self, name: str) -> bool:
        """Tell whether a call of this name is one of Spark's own function."""
        function = find(name)
        # `extract year` is what the grammar makes of EXTRACT(YEAR FROM ..).
        is_syntax = function is not None and function.is_syntax
        return self._is_own is None or is_syntax or self._is_own(name.partition(" ")[0])

    def check_functions(self, node: exp.Expr) -> None:
        """Raise Refusal where the session has a function of its own under one of the names."""
        for name in {call.name for call in node.find_all(exp.Anonymous)} if self._is_own is not None else ():
            if not self.is_own(name):
                raise Refusal(f"{name.partition(' ')[0]}() is none of Spark's own functions in this session")
