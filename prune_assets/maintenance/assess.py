"""Look at a table: measure the files that are considered, pick those that need it, and foresee what that brings."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_core.errors import LayoutError, UnsupportedFeature, WrongUse
from parquet_core.layout.order import OrderedColumn, unsorted_files
from parquet_core.outcomes import may_match, must_match
from prune_assets.cache_directory import metadata_cache
from prune_assets.maintenance.forecast import pieces_of, predicted_bytes, predicted_depth
from prune_assets.maintenance.measure import Measured, measure, sort_keys
from prune_assets.maintenance.pick import Picked, Reason, pick
from prune_assets.maintenance.result import OptimizeResult, PickedFile, PredicateBytes
from prune_assets.planner.plan import lower_predicate
from prune_assets.planner.plan import plan as make_plan
from prune_assets.session.semantics_of_session import semantics_of
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.tables.delta import DeltaTable
from prune_assets.tables.opening import made_steadily, open_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

    from deltalog.snapshot.snapshot import Snapshot
    from parquet_core.layout.spec import LayoutSpec
    from parquet_core.storage import DataFile
    from prune_assets.planner.plan import Plan
    from prune_assets.tables.table import Table

# Of so many picked files the rows are read to tell whether they are sorted.
MAX_READ = 1_000
# What a rewrite adds to the rows for its own time: the number of the group, and the file.
GROUP, FILE = "prune_group", "__prune_file"
RESERVED = {GROUP, FILE}
_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done: `place` is a path or an address."""

    place: str
    layout: LayoutSpec
    where: str | Column | None
    spark: SparkSession | None


class Look(NamedTuple):
    """A table at one moment, measured, and what is picked of it for files of `target` bytes."""

    table: Table
    measured: Measured
    picked: Picked
    target: int

    @property
    def live_bytes(self) -> float:
        """What the rows of the picked files take about."""
        live = self.measured.numbers.live_bytes()
        return float(sum(live[list(group.files)].sum() for group in self.picked.groups))

    @property
    def numbers(self) -> list[int]:
        """The picked files by their numbers in the index, which ascend."""
        return sorted(int(self.measured.at[file]) for group in self.picked.groups for file in group.files)

    @property
    def group_of(self) -> dict[int, int]:
        """The group of each picked file, by its number in the index."""
        return {int(self.measured.at[file]): i for i, group in enumerate(self.picked.groups) for file in group.files}

    @property
    def files(self) -> list[DataFile]:
        """The picked files."""
        return [self.measured.index.files[number] for number in self.numbers]

    @property
    def rows(self) -> int:
        """How many rows the picked files have that are not deleted."""
        deleted = self.table.deleted if isinstance(self.table, DeltaTable) else np.zeros(len(self.measured.rows))
        return int((self.measured.rows - deleted)[self.numbers].sum())


def look_at(asked: Asked) -> Look:
    """Measure the files that are considered, and pick; what cannot be rewritten is refused."""
    return made_steadily(lambda: _look_once(asked))


def _look_once(asked: Asked) -> Look:
    if asked.layout.curve_by:
        raise UnsupportedFeature(
            f"{asked.place}: optimize supports sort_by only, and this layout uses a curve through "
            f"{', '.join(asked.layout.curve_by)}; rewrite the table or the partitions that need it"
        )
    semantics = SparkSemantics() if asked.spark is None else semantics_of(asked.spark)
    table = open_table(asked.place, semantics=semantics, cache=metadata_cache())
    lowered = lower_predicate("true" if asked.where is None else asked.where, table, session=asked.spark)
    answers = table.answers(lowered.predicate)
    if asked.where is not None and (may_match(answers.partitions) & ~must_match(answers.partitions)).any():
        raise WrongUse(
            f"where: {lowered.sql} selects parts of files of {asked.place}; use its partition columns only, or leave "
            "it out"
        )
    index = table.read(table.answers(lowered.predicate).kept)
    if taken := next((name for column in table.columns if (name := column.path[0]).casefold() in RESERVED), None):
        raise UnsupportedFeature(f"{asked.place}: column {taken} has a name that optimize reserves; rename the column")
    if isinstance(table, DeltaTable):
        _check_delta(table.snapshot, asked.layout)
        partition, deleted = table.partition_of_files(), table.deleted
    else:
        directories = [index.files[i].path.rpartition("/")[0] for i in range(len(index.files))]
        partition, deleted = np.unique(directories, return_inverse=True)[1].astype(np.int64), None
        _check_partitions(asked.layout, [column.name for column in index.partitions], asked.place)
    measured = measure(index, asked.layout, chosen=answers.kept, partition=partition, deleted=deleted)
    index.save()
    target = asked.layout.target_file_bytes
    return Look(table, measured, pick(measured.numbers, target=target), target)


def _check_delta(snapshot: Snapshot, layout: LayoutSpec) -> None:
    """Refuse what a rewrite could not honour, before Spark has anything to do."""
    import deltalog

    deltalog.check_compactable(snapshot)
    _check_partitions(layout, snapshot.schema.partition_columns, snapshot.table)
    mine = {_quoted(name).casefold() for name in layout.sort_columns}
    for name in clustered_by(snapshot):
        if name.casefold() not in mine:
            raise LayoutError(
                f"{snapshot.table}: the table is clustered by {name}, which sort_by lacks: OPTIMIZE of "
                "delta-spark and this one would "
                "undo each other; add {name} to sort_by, or cluster the table by the columns of sort_by"
            )


def _check_partitions(layout: LayoutSpec, theirs: Sequence[str], place: str) -> None:
    mine = [name.casefold() for name in layout.partition_by]
    if mine and mine != [name.casefold() for name in theirs]:
        raise LayoutError(
            f"partition_by = {', '.join(layout.partition_by)}: {place} is partitioned by "
            f"{', '.join(theirs) or 'nothing'}, and optimize does not change that; leave out partition_by, or "
            "write a new table"
        )


def plan_of(asked: Asked, sql: str, look: Look) -> Plan:
    """Plan a predicate on the version that was looked at."""
    version = look.table.snapshot.version if isinstance(look.table, DeltaTable) else None
    return make_plan(asked.place, where=sql, session=asked.spark, depth="row_groups", version=version)


def with_unsorted_rows(look: Look, layout: LayoutSpec) -> Look:
    """Read the sort key of the picked files whose bounds leave their order open; of very many, the first ones."""
    measured, reasons = look.measured, dict(look.picked.reasons)
    unknown = [file for file, found in reasons.items() if Reason.ORDER not in found][:MAX_READ]
    files = {int(measured.at[file]): file for file in unknown} if measured.keys else {}
    keys = sort_keys(measured.index, layout)
    ordered = [OrderedColumn(column, key) for column, key in zip(measured.keys, keys, strict=True)]
    # Rows that cannot be compared tell nothing, and what is picked is rewritten for the reasons that are known.
    with suppress(UnsupportedFeature):
        for number in unsorted_files(measured.index, list(files), ordered):
            reasons[files[number]] += (Reason.ORDER,)
    return look._replace(picked=look.picked._replace(reasons=reasons))


def foreseen(look: Look, plans: Sequence[Plan], layout: LayoutSpec) -> OptimizeResult:
    """Tell what was picked, and predict what rewriting it brings."""
    measured, groups, reasons = look.measured, look.picked.groups, look.picked.reasons
    index = measured.index
    pieces = pieces_of(measured, groups, layout) if groups else None
    return OptimizeResult(
        table=look.table.name,
        dry_run=True,
        considered=len(measured.at),
        picked=tuple(
            PickedFile(
                index.files[int(measured.at[file])].path,
                int(measured.numbers.size[file]),
                tuple(reason.value for reason in reasons[file]),
            )
            for group in groups
            for file in group.files
        ),
        new_files=sum(group.outputs for group in groups),
        new_bytes=int(look.live_bytes),
        depth_before=measured.depth(),
        depth_predicted=predicted_depth(measured, groups),
        predicates=tuple(
            PredicateBytes(
                plan.lowered.sql,
                plan.report.kept.bytes,
                plan.report.kept.bytes if pieces is None else predicted_bytes(plan, measured, groups, pieces),
            )
            for plan in plans
        ),
        version=look.table.snapshot.version if isinstance(look.table, DeltaTable) else None,
    )


def clustered_by(snapshot: Snapshot) -> list[str]:
    """Return the columns that a Delta table is clustered by, spelled as delta-spark does in tags."""
    from deltalog.table.properties import clustering_columns

    logical = {column.physical: column.leaf.path for column in snapshot.schema.columns}
    paths = (logical.get(path, path) for path in clustering_columns(snapshot.domains, place=snapshot.table))
    return [".".join(map(_quoted, path)) for path in paths]


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return name if _PLAIN_NAME.fullmatch(name) else f"`{escaped}`"
