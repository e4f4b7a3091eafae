"""Automatic layout changes of a table, recorded in the table's own directory.

    _layout_changes/0001.json

A later run finds the records on any machine, even if the event log of an orchestrator is lost. Spark, vacuum and writes
ignore names that begin with an underscore. If two runs record a change at once, only one succeeds.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads it
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.printable import redacted
from parquet_core.storage import Traffic, list_directory, prove_create_below, put_unique, read_whole
from prune_assets.tables.target import find_target
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    import os

    from pyspark.sql import SparkSession

    from parquet_core.layout.spec import LayoutSpec

_DIRECTORY = "_layout_changes"
_NAME = re.compile(r"[0-9]{4}\.json")


class LayoutChange(msgspec.Struct, frozen=True, kw_only=True):
    """A layout that a table was changed to, and the layout that was declared at that time.

    `title`: the new layout in a few words.
    `before`, `promised`: bytes that one run of the workload read before the change, and should read after it.
    """

    schema: Literal["layout-change/1"] = "layout-change/1"
    at: Annotated[dt.datetime, msgspec.Meta(tz=True)]
    title: str
    layout: dict[str, Any]
    declared: dict[str, Any]
    before: int
    promised: int


def location_of(table: str | os.PathLike[str], spark: SparkSession | None) -> str:
    """Return the directory of a table.

    Raises UnsupportedFeature if only a catalog knows the files of the table.
    """
    target = find_target(table, spark)
    if target.format.by_catalog_alone:
        raise UnsupportedFeature(
            f"{redacted(str(table))}: automatic layouts are not supported for tables of {target.format.name}; declare "
            "the layout that `advise` names"
        )
    return target.writing.location(target.location)


def last_change(location: str) -> tuple[int, LayoutChange | None]:
    """Return the number of changes of a table, and the last change.

    Raises MalformedFile if the record of the last change is unreadable.
    """
    files = list_directory(f"{location.rstrip('/')}/{_DIRECTORY}", _NAME)
    if not files:
        return 0, None
    data = next(read_whole(files[-1:], purpose="layout changes", traffic=Traffic()))
    try:
        return int(files[-1].path[-9:-5]), msgspec.json.decode(data, type=LayoutChange)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedFile(
            f"{redacted(files[-1].path)}: not a record of a layout change ({error}); remove it, and layouts can "
            f"change again"
        ) from None


def note_change(location: str, count: int, change: LayoutChange) -> bool:
    """Record change number `count` + 1; return False if another run recorded a change in the meantime."""
    directory = f"{location.rstrip('/')}/{_DIRECTORY}"
    prove_create_below(directory)
    return put_unique(f"{directory}/{count + 1:04d}.json", msgspec.json.encode(change))


def layout_now(location: str, declared: LayoutSpec) -> LayoutSpec:
    """Return the layout that a table should have: the recorded change, unless another layout was declared after it."""
    change = last_change(location)[1]
    if change is None or load_layout(change.declared) != declared:
        return declared
    return load_layout(change.layout)
