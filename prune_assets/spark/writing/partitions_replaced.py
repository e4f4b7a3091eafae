"""Which files of a plain table an overwrite of some partitions replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import TableNotFound, WrongUse
from prune_assets.planner.plan import plan

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, SparkSession


def partitions_replaced(table: Path, stage: Path, where: str | Column, session: SparkSession) -> tuple[str, ...]:
    """Return the files of a table whose partitions a condition selects; WrongUse where `stage` has files of others.

    Both are directories of files by partition. The condition has to decide about every partition as a whole.
    """
    text = _text(where)
    outside = _decided(stage, text, session)[1]
    if outside:
        raise WrongUse(f"where: {text} does not select {outside[0]}, which the data have rows of; nothing was replaced")
    selected, _ = _decided(table, text, session)
    return tuple(selected)


def _text(where: str | Column) -> str:
    if not isinstance(where, str):
        raise WrongUse("where: a part of a plain table is overwritten by a condition in SQL; give it as text")
    return where


def _decided(directory: Path, where: str, session: SparkSession) -> tuple[list[str], list[str]]:
    """Return the files of the partitions that a condition selects, and of those that it does not."""
    try:
        selected = _files(directory, where, session)
        others = _files(directory, f"NOT coalesce(({where}), false)", session)
    except TableNotFound:
        return [], []
    if both := selected.intersection(others):
        raise WrongUse(
            f"where: {where} does not decide about {min(both)} by its partition; ask partition columns alone, as in "
            "day = DATE '2024-01-01'"
        )
    return sorted(selected), sorted(others)


def _files(directory: Path, where: str, session: SparkSession) -> set[str]:
    return {file.path for file in plan(str(directory), where=where, session=session).surviving_files}
