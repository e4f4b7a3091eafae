"""Plan a read: which rows of which row groups a predicate may select, and the report about it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from parquet_core.access_plan import Verdict
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import WrongUse
from prune_assets.cache_directory import metadata_cache
from prune_assets.planner.columns import columns_to_read
from prune_assets.planner.extents import Kept, Sizes, kept_by, measure
from prune_assets.planner.implied import ImpliedPredicate, implied_predicate
from prune_assets.planner.levels import Evaluation, evaluate
from prune_assets.planner.summary import file_reports, summarize
from prune_assets.semantics import SparkSemantics
from prune_assets.sql.lowering import LoweredPredicate, lower
from prune_assets.sql.zones import check_zone_name

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.storage import DataFile
    from prune_assets.report.skip_report import FileReport, SkipReport

Depth = Literal["row_groups", "pages"]


@dataclass(frozen=True)
class Plan:
    """What to read of a table for a predicate.

    `index` holds the metadata it rests on, `evaluation` the answers of every level; `files` and
    `report` are made from them on first use. `seconds` and the traffic figures cover the planning.
    """

    table: str
    semantics: SparkSemantics
    lowered: LoweredPredicate
    columns: tuple[LeafColumn, ...]
    index: MetadataIndex
    evaluation: Evaluation
    seconds: float
    requests: int
    fetched: dict[str, int]

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the columns read, by row group."""
        return measure(self.index, self.columns)

    @cached_property
    def kept(self) -> Kept:
        """What is read of every row group; fetches the offset indexes that tell the bytes of a selection."""
        return kept_by(self.evaluation.access, self.index, self.columns, self.sizes)

    @cached_property
    def files(self) -> tuple[FileReport, ...]:
        """What happens to every file, row group by row group."""
        return file_reports(self)

    @cached_property
    def report(self) -> SkipReport:
        """What is skipped, out of how much, by which level and why."""
        report = summarize(self)
        self.index.save()
        return report

    @cached_property
    def implied(self) -> ImpliedPredicate | None:
        """The range on one column that hands over to Spark what Spark would not skip by itself."""
        return implied_predicate(self.evaluation, self.index)

    @property
    def surviving_files(self) -> tuple[DataFile, ...]:
        """The files of which at least one row is read."""
        kept = set(self.index.file[self.evaluation.access.verdict != Verdict.SKIP].tolist())
        return tuple(file for i, file in enumerate(self.index.files) if i in kept)


def plan(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    where: str,
    columns: Sequence[str] | None = None,
    session: SparkSession | SparkSemantics | None = None,
    depth: Depth = "pages",
) -> Plan:
    """Plan which rows of a table a predicate in Spark SQL may select.

    `table`: a directory, file, glob or list of files. `columns`: what will be read, by default all;
    it decides which bytes count. `depth`: how deep to look. Raises WrongUse (PredicateSyntaxError,
    UnknownColumn, PredicateTypeError, TableNotFound), MalformedFile and StorageFailure.
    """
    if depth not in {"row_groups", "pages"}:
        raise WrongUse(f"depth={depth!r}: must be 'row_groups' or 'pages'")
    if not isinstance(where, str):
        raise WrongUse(f"where={where!r}: give the predicate as text in Spark SQL")
    started = time.perf_counter()
    semantics = _semantics(session)
    index = read_dataset(table, cache=metadata_cache(), infer_partition_types=semantics.infer_partition_types)
    lowered = lower(where, _named_columns(index), semantics=semantics)
    evaluation = evaluate(lowered.predicate, index, pages=depth == "pages")
    index.save()
    return Plan(
        table=table if isinstance(table, str) else str(table),
        semantics=semantics,
        lowered=lowered,
        columns=columns_to_read(index.columns, columns, lowered.predicate, partitions=index.partitions),
        index=index,
        evaluation=evaluation,
        seconds=time.perf_counter() - started,
        requests=index.traffic.requests,
        fetched=dict(index.traffic.bytes),
    )


def means_the_same(made: Plan, semantics: SparkSemantics) -> bool:
    """Tell whether the predicate of a plan would be lowered to the same in a session, as far as it depends on zones.

    What was made without a zone depends on none.
    """
    if not made.semantics.reads_alike(semantics):
        return False
    if made.semantics.time_zone is None:
        return True
    return lower(made.lowered.sql, _named_columns(made.index), semantics=semantics).predicate == made.lowered.predicate


def _named_columns(index: MetadataIndex) -> list[LeafColumn]:
    """Return the columns that a predicate may name; one of both files and directories is that of directories.

    Where the two are spelled differently it depends on the session which is meant: that of the files stands
    for both, marked as not to be pruned on.
    """
    in_directories = {column.path[0] for column in index.partitions}
    in_files = {column.path[0] for column in index.columns}
    folded = {name.casefold() for name in in_files}
    return [
        *(column for column in index.columns if column.path[0] not in in_directories),
        *(
            column
            for column in index.partitions
            if column.path[0] in in_files or column.path[0].casefold() not in folded
        ),
    ]


def _semantics(session: SparkSession | SparkSemantics | None) -> SparkSemantics:
    if session is None:
        return SparkSemantics()
    if not isinstance(session, SparkSemantics):
        return SparkSemantics.of(session)
    if session.time_zone is not None:
        check_zone_name(session.time_zone)
    return session
