"""Which files of a plain table an overwrite of some partitions replaces."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.fix import Fix, Step
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY
from parquet_core.storage import files_below
from parquet_core.storage.partition_discovery import unescape
from prune_assets.session.columns import column_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_PLACE = "__prune_place"


def partitions_replaced(
    table: Path, stage: Path, where: str | Column, df: DataFrame, partition_by: Sequence[str]
) -> tuple[str, ...]:
    """Return the files of a table whose partitions a condition selects; WrongUse where `stage` has files of others.

    Both are directories of files by partition. Spark is asked, of the values that directories name, as `df` has their
    types: what it would infer from the names takes `01` and `1` for one number.
    """
    old, new = _by_directory(table), _by_directory(stage)
    selected = _selected(sorted(old.keys() | new.keys()), where, df, partition_by)
    if outside := sorted(new.keys() - selected):
        raise WrongUse(
            f"where: {where} does not select {outside[0]}, but the data has rows of it; nothing was replaced",
            Fix(step=Step.STAY_IN_PARTITIONS),
        )
    return tuple(file for directory_name in sorted(old.keys() & selected) for file in old[directory_name])


def _by_directory(directory: Path) -> dict[str, list[str]]:
    by_directory = defaultdict(list)
    for file in files_below(directory):
        directory_name = Path(file.path).parent.relative_to(directory)
        if directory_name.parts:  # a file without rows lies in no partition
            by_directory[str(directory_name)].append(file.path)
    return by_directory


def _selected(places: Sequence[str], where: str | Column, df: DataFrame, partition_by: Sequence[str]) -> set[str]:
    """Return the partitions for which a condition is true."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as fn

    if not places:
        return set()
    texts = [(directory_name, *map(_text, Path(directory_name).parts)) for directory_name in places]
    names = [_PLACE, *(f"text{i}" for i in range(len(partition_by)))]
    frame = df.sparkSession.createDataFrame(texts, ", ".join(f"{name} string" for name in names))
    values = [fn.col(f"text{i}").cast(_type(df, name)).alias(name) for i, name in enumerate(partition_by)]
    # Twice, so that Spark refuses to choose: of a missing column `user` it would make its function of that name.
    others = [fn.lit(None).alias(name) for name in df.columns if name not in partition_by for _ in range(2)]
    try:
        condition = fn.expr(where) if isinstance(where, str) else where
        chosen = frame.select(_PLACE, *values, *others).where(condition).select(column_of(_PLACE, nested=False))
        return {row[0] for row in chosen.collect()}
    except AnalysisException as error:
        reason = "" if error.getCondition() == "AMBIGUOUS_REFERENCE" else f": {str(error).splitlines()[0]}"
        raise WrongUse(
            f"where: {where} must be a condition on the partition columns alone ({', '.join(partition_by)}){reason}"
        ) from None


def _text(part: str) -> str | None:
    text = unescape(part.partition("=")[2])
    return None if text == NULL_DIRECTORY else text


def _type(df: DataFrame, name: str) -> str:
    kind = df.schema[name].dataType
    return "string" if kind.typeName() in {"char", "varchar"} else kind.simpleString()
