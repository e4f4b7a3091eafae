"""Check the constraints of a Delta table while its rows are written. One violating row aborts the write.

A row satisfies a CHECK constraint if its condition is true; null is a violation. A row satisfies a generated column if
the value equals the column's expression, where null equals null.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.table.constraints import constraints_of
from prune_assets.spark.columns import column_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from deltalog import Snapshot
    from deltalog.table.constraints import Constraint

_CHECKED = {"checkConstraints", "generatedColumns"}
# Precedes the number of the constraint in the error that a violating row raises.
_BROKEN = "prune-assets: broken constraint"


def constraints_to_check(snapshot: Snapshot) -> list[Constraint]:
    """Return the constraints of a table that Spark can evaluate on rows."""
    fields = snapshot.schema.fields
    inside = {field.name for field in fields if len(field.path) > 1}
    return [
        constraint
        for constraint in constraints_of(snapshot.properties, fields)
        if constraint.feature in _CHECKED
        and (constraint.feature == "checkConstraints" or constraint.name not in inside)
    ]


def enforcing_constraints(
    frame: DataFrame, constraints: Sequence[Constraint], partition_by: Sequence[str], location: str
) -> DataFrame:
    """Return a frame whose rows raise an error if they violate a constraint.

    An empty string in a string partition column is checked as null, because Delta stores it as null.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as fn

    if not constraints:
        return frame
    for name in partition_by:
        if frame.schema[name].dataType.typeName() == "string":
            frame = frame.withColumn(name, fn.nullif(column_of(name, nested=False), fn.lit("")))
    first = frame.columns[0]
    first_type = frame.schema[first].dataType
    checked = column_of(first, nested=False)
    for index, constraint in enumerate(constraints):
        broken = fn.raise_error(fn.lit(f"{_BROKEN} {index};")).cast(first_type)
        checked = fn.when(_condition(constraint), checked).otherwise(broken)
        try:
            frame.select(checked).schema  # noqa: B018 - Spark resolves names here
        except PySparkException as error:
            reason = str(error).splitlines()[0]
            raise UnsupportedTable(
                f"{location}: {constraint.feature}: {constraint.name} cannot be checked ({reason}); write with "
                "delta-spark"
            ) from None
    return frame.withColumn(first, checked)


def _condition(constraint: Constraint) -> Column:
    from pyspark.sql import functions as fn

    expression = fn.expr(constraint.sql)
    if constraint.feature == "checkConstraints":
        return expression  # null is not true: such a row goes to `otherwise`
    return column_of(constraint.name, nested=False).eqNullSafe(expression)


@contextmanager
def naming_broken(constraints: Sequence[Constraint], location: str) -> Iterator[None]:
    """Convert the error of a violating row to RefusedCommit with the name of the constraint."""
    try:
        yield
    except Exception as error:
        message = str(error)
        broken = next((each for i, each in enumerate(constraints) if f"{_BROKEN} {i};" in message), None)
        if broken is None:
            raise
        what = "differs from its generation expression" if broken.feature == "generatedColumns" else "is not true"
        raise RefusedCommit(
            f"{location}: {broken.feature}: {broken.name} {what} in at least one row: {broken.sql}; remove or "
            "correct such rows; nothing was committed"
        ) from None
