"""The automatic layout changes of a table, recorded in the directory of the table itself.

    _layout_changes/0001.json

So a later run finds them wherever it runs, and when the event log of an orchestrator is gone. Names that begin with an
underscore are passed over by Spark, by vacuum and by writes. Of two runs that note a change at once, one succeeds.
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
    """A layout that a table was given, and the one that was declared then; `title`: it in a few words.

    `before`, `promised`: bytes that one run of the workload read, and would read.
    """

    schema: Literal["layout-change/1"] = "layout-change/1"
    at: Annotated[dt.datetime, msgspec.Meta(tz=True)]
    title: str
    layout: dict[str, Any]
    declared: dict[str, Any]
    before: int
    promised: int


def location_of(table: str | os.PathLike[str], spark: SparkSession | None) -> str:
    """Return the directory of a table; UnsupportedFeature where its catalog alone knows what belongs to it."""
    target = find_target(table, spark)
    if target.format.by_catalog_alone:
        raise UnsupportedFeature(
            f"{redacted(str(table))}: automatic layouts are not followed for tables of {target.format.name}; declare "
            "the layout that `advise` names"
        )
    return target.writing.location(target.location)


def last_change(location: str) -> tuple[int, LayoutChange | None]:
    """Return how many changes a table has had, and the last one; MalformedFile for a note of another kind."""
    files = list_directory(f"{location.rstrip('/')}/{_DIRECTORY}", _NAME)
    if not files:
        return 0, None
    data = next(read_whole(files[-1:], purpose="layout changes", traffic=Traffic()))
    try:
        return int(files[-1].path[-9:-5]), msgspec.json.decode(data, type=LayoutChange)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedFile(
            f"{redacted(files[-1].path)}: no note of a layout change ({error}); remove it, and layouts may change again"
        ) from None


def note_change(location: str, number: int, change: LayoutChange) -> bool:
    """Note a change as the one after so many; False where another run has noted one meanwhile."""
    directory = f"{location.rstrip('/')}/{_DIRECTORY}"
    prove_create_below(directory)
    return put_unique(f"{directory}/{number + 1:04d}.json", msgspec.json.encode(change))


def layout_now(location: str, declared: LayoutSpec) -> LayoutSpec:
    """Return the layout that a table should have: the one it was changed to, unless another was declared since."""
    change = last_change(location)[1]
    if change is None or load_layout(change.declared) != declared:
        return declared
    return load_layout(change.layout)
