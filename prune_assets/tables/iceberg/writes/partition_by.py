"""Iceberg transforms in `partition_by`: `day`, `days(ts)`, `bucket(16, id)`, `truncate(4, word)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import LayoutError
from prune_assets.spark.columns import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.tables.iceberg.snapshot import IcebergSnapshot

_CALL = re.compile(r"(\w+)\(\s*(?:(\d+)\s*,\s*)?(`(?:[^`]|``)+`|[^`,()]*[^`,()\s])\s*\)")
_TIMES = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_WIDE = {"bucket", "truncate"}


class PartitionTransform(NamedTuple):
    """A field of a partition spec.

    `transform`: Spark's name; "identity" for the column itself.
    """

    column: str
    transform: str = "identity"
    width: int | None = None

    def __str__(self) -> str:
        return self.sql("")

    def sql(self, functions: str) -> str:
        """Return the field in SQL.

        `functions`: prefix of the function name, such as `lake.system.`; "" in CREATE TABLE.
        """
        name = quoted(self.column) if functions or not self.column.isidentifier() else self.column
        if self.transform == "identity":
            return name
        width = "" if self.width is None else f"{self.width}, "
        return f"{functions}{self.transform}({width}{name})"


def spark_name(transform: str) -> str:
    """Return Spark's name of an Iceberg transform.

    >>> spark_name("day"), spark_name("bucket")
    ('days', 'bucket')
    """
    return _TIMES.get(transform, transform)


def parse_transform(entry: str) -> PartitionTransform:
    """Parse a `partition_by` entry; an entry that is not a function call is a column name.

    >>> parse_transform("bucket(16, id)"), parse_transform("day(ts)").transform, parse_transform("day").column
    (PartitionTransform(column='id', transform='bucket', width=16), 'days', 'day')
    """
    call = _CALL.fullmatch(entry.strip())
    if call is None:
        return PartitionTransform(entry)
    name, width, column = call[1].lower(), call[2], call[3]
    name = spark_name(name)
    if name not in {*_TIMES.values(), *_WIDE} or (width is not None) != (name in _WIDE):
        raise LayoutError(
            f"partition_by = {entry}: Iceberg has years, months, days, hours (COLUMN), and bucket and truncate "
            "(NUMBER, COLUMN)"
        )
    return PartitionTransform(
        column.removeprefix("`").removesuffix("`").replace("``", "`"), name, None if width is None else int(width)
    )


def transforms_of(snapshot: IcebergSnapshot) -> list[PartitionTransform]:
    """Return the fields of the current partition spec, without dropped fields."""
    metadata = snapshot.metadata
    schema, transforms = metadata.schema(), []
    for field in metadata.spec().fields:
        name, _, width = str(field.transform).removesuffix("]").partition("[")
        if name != "void":
            column = schema.find_column_name(field.source_id)
            transforms.append(PartitionTransform(str(column), spark_name(name), int(width) if width else None))
    return transforms


def transforms_kept(
    layout: LayoutSpec, snapshot: IcebergSnapshot | None, name: str, *, by: str = "optimize"
) -> list[PartitionTransform]:
    """Return the fields of the current spec, or for a new table (`snapshot` is None) the fields of the layout.

    `by`: the operation, for messages.

    Raises LayoutError if the layout's fields differ from the current spec.
    """
    mine = list(map(parse_transform, layout.partition_by))
    if snapshot is None:
        return mine
    theirs = transforms_of(snapshot)
    if mine and not are_same(mine, theirs):
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by)}: {name} is partitioned by "
            f"{', '.join(map(str, theirs)) or 'nothing'}, and {by} cannot change it; leave out partition_by, or "
            "change the table's spec first (ALTER TABLE .. ADD PARTITION FIELD)"
        )
    return theirs


def are_same(mine: Sequence[PartitionTransform], theirs: Sequence[PartitionTransform]) -> bool:
    """Return True if two specs partition rows equally, ignoring case."""
    return [each._replace(column=each.column.casefold()) for each in mine] == [
        each._replace(column=each.column.casefold()) for each in theirs
    ]


def with_partition_values(
    frame: DataFrame, transforms: Sequence[PartitionTransform], catalog: str
) -> tuple[DataFrame, list[str]]:
    """Add one column per partition field, to sort the rows by; also return the names of these columns.

    Strings get a prefix, so that an empty string is not treated as null.
    """
    from pyspark.sql import functions as fn

    names = [f"__prune_partition_{i}" for i in range(len(transforms))]
    for name, field in zip(names, transforms, strict=True):
        value: Column = fn.expr(field.sql(f"`{catalog}`.system."))
        type_name = frame.select(value.alias(name)).schema[0].dataType.typeName()
        if type_name in {"float", "double"}:
            raise LayoutError(
                f"partition_by: {field.column} is {type_name}, whose equal values may differ; use another column"
            )
        if type_name == "binary":
            value = fn.hex(value)
        frame = frame.withColumn(name, fn.concat(fn.lit("v"), value) if type_name in {"string", "binary"} else value)
    return frame, names
