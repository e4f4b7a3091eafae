"""Nodes that sqlglot's trees lack: typed literals, names before they are resolved, opaque parts."""

from __future__ import annotations

from prune_assets.sql.syntax.sqlglot_nodes import exp
from prune_assets.sql.types.spark_values import SparkValue


class SparkLiteral(exp.Expression, exp.Condition):
    """A literal with its SparkValue as `this`."""

    arg_types = {"this": True}  # noqa: RUF012  (sqlglot's own way to declare a node)

    @property
    def spark_value(self) -> SparkValue:
        """Return the value."""
        value = self.args["this"]
        assert isinstance(value, SparkValue)
        return value


class Opaque(exp.Expression, exp.Condition):
    """A part that Spark understands and that is not looked into; `this` says why, `remedy` what to write.

    `call`: the name of the function, where it is a call.
    """

    arg_types = {"this": True, "remedy": False, "call": False}  # noqa: RUF012  (sqlglot's own way to declare a node)


class LikeList(exp.Expression, exp.Condition):
    """`this LIKE ALL`, or where not `every` ANY, of several patterns; `negated` is each of them, not the whole."""

    arg_types = {"this": True, "expressions": True, "every": True, "negated": True}  # noqa: RUF012


class CastTo(exp.Expression, exp.Condition):
    """A cast of `this` to the SparkType `to`, None for one that is not looked into; `is_try`: errors become NULL."""

    arg_types = {"this": True, "to": False, "is_try": False}  # noqa: RUF012  (sqlglot's own way to declare a node)


class PropagatedConstant(exp.Expression, exp.Condition):
    """The value, a `pa.Scalar`, that has to be that of the column `this` wherever more than this part holds."""

    arg_types = {"this": True, "value": True}  # noqa: RUF012  (sqlglot's own way to declare a node)


class ColumnName(exp.Expression, exp.Condition):
    """A name as written, `this` its parts: a column, a field inside a struct, or a qualified column."""

    arg_types = {"this": True}  # noqa: RUF012  (sqlglot's own way to declare a node)

    @property
    def parts_of_name(self) -> tuple[str, ...]:
        """Return the parts from left to right, without back quotes."""
        parts = self.args["this"]
        assert isinstance(parts, tuple)
        return parts
