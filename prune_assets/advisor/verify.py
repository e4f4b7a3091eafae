"""Verify advice: write its first layouts next to the table, and plan the workload on them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import StorageFailure, WrongUse
from parquet_core.layout.spec import LayoutSpec
from parquet_core.printable import redacted
from parquet_core.quantities import bytes_text
from parquet_core.storage import is_remote, local_path
from prune_assets.advisor.advise import shapes_of
from prune_assets.advisor.merge_keys import with_merge_keys
from prune_assets.advisor.own_layout import key_paths
from prune_assets.advisor.queries import costs_of, queries_of
from prune_assets.advisor.result import own_title
from prune_assets.advisor.sample import encoded_rows, sampled_rows, take_sample
from prune_assets.advisor.simulate import Workspace, simulate
from prune_assets.advisor.trial_folder import LAYOUTS, SAMPLE, trial_folder
from prune_assets.advisor.trial_write import write_without_spark
from prune_assets.advisor.verified import VerifiedQuery, verified_layout
from prune_assets.cache_directory import metadata_cache
from prune_assets.spark.spark_session import given_or_active, own_jobs
from prune_assets.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from parquet_core.format.schema import Path as Path_
    from prune_assets.advisor.queries import Query
    from prune_assets.advisor.result import LayoutAdvice
    from prune_assets.advisor.verified import VerifiedLayout
    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload
    from prune_assets.tables.table import Table

# Maximum rows and bytes of a written sample; without Spark, maximum bytes of a table that is written completely.
_MOST_SAMPLED = 2_000_000
_MOST_SAMPLED_BYTES = 256 << 20
_MOST_WITHOUT_SPARK = 1 << 30
# Minimum rows that a prediction for a sample uses, if the sample has them.
_FEWEST_SIMULATED = 100_000
# Maximum queries that Spark runs, most bytes first.
_MOST_RUN = 50
# Arrow does not truncate bounds of strings.
_UNCUT = 1 << 20
_ALL = 1 << 62


def verified_on(
    advice: LayoutAdvice, workload: Workload | Sequence[str], *, session: SparkSession | None, on_sample: bool
) -> tuple[VerifiedLayout, ...]:
    """Return the results of `LayoutAdvice.verify`, which documents the arguments and errors."""
    spark = None if session is None else given_or_active(session)
    original = open_table(advice.named, semantics=advice.semantics, session=spark, cache=metadata_cache())
    shapes, _ = with_merge_keys(original, shapes_of(original, workload), workload)
    if spark is None and not on_sample:
        _check_size(original)
    with _folder_beside(original, on_sample=on_sample) as folder:
        source = _copied_sample(original, folder) if on_sample else original
        most = advice.sampled_rows
        if on_sample:
            most = max(round(_rows_of(source) * advice.sampled_rows / advice.rows), _FEWEST_SIMULATED)
        layouts = [(ranked.title, ranked.layout) for ranked in advice.ranking[:LAYOUTS]]
        layouts += [] if advice.own is None else [(own_title(advice.own), advice.own.layout)]
        keys = [path for _, layout in layouts for path in key_paths(layout, source)]
        trial = _Trial(source, shapes, spark, None if spark else sampled_rows(source, _ALL), most, keys)
        return tuple(_verified(trial, title, layout, folder / f"{i}") for i, (title, layout) in enumerate(layouts))


@dataclass(frozen=True)
class _Trial:
    """A table, its queries, and the means to write layouts and compare predictions.

    `rows`: all rows of the table; None if Spark writes.
    `most`: maximum number of rows to predict from.
    `keys`: columns that layouts sort or partition by.
    """

    source: Table
    shapes: Sequence[QueryShape]
    spark: SparkSession | None
    rows: pa.Table | None
    most: int
    keys: Sequence[Path_]

    @cached_property
    def workspace(self) -> Workspace:
        queries = self.queries(self.source)
        paths = dict.fromkeys(path for query in queries for path in query.paths())
        partitions = [column.path for column in self.source.partitions]
        sample = take_sample(self.source, [*dict.fromkeys([*paths, *partitions, *self.keys])], self.most)
        costs = costs_of(self.source.read_all())
        encoded = encoded_rows(self.source, queries, list(sample.columns), costs)
        return Workspace(sample, queries, costs, encoded)

    def queries(self, table: Table) -> list[Query]:
        return queries_of(table, self.shapes, {})

    def write(self, layout: LayoutSpec, directory: Path) -> Table:
        if self.spark is not None:
            from prune_assets.reading.reader import read
            from prune_assets.writing.write import write

            with own_jobs(self.spark, f"verify {directory}"):
                write(read(self.source.given, where="true", session=self.spark), str(directory), layout=layout)
        elif self.rows is not None:
            per_row = self.workspace.bytes_per_row
            write_without_spark(self.rows, directory, layout, table=self.source, bytes_per_row=per_row)
        return open_table(directory, semantics=self.source.semantics)


def _verified(trial: _Trial, title: str, layout: LayoutSpec, directory: Path) -> VerifiedLayout:
    predicted = simulate(
        trial.workspace, layout if trial.spark else replace(layout, column_index_truncate_length=_UNCUT)
    )
    table = trial.write(layout, directory)
    directories = {*layout.partition_by, *(column.name for column in trial.source.partitions)}
    planned = {_key(plan, directories): plan for plan in trial.queries(table)}
    scanned = {} if trial.spark is None else _scanned(trial.spark, directory, [*planned.values()])
    bytes_ = np.column_stack(predicted).round().astype(np.int64).tolist()
    verified = []
    for query, (read, whole) in zip(trial.workspace.queries, bytes_, strict=True):
        # A predicate may not fit the written table, for example if directory names imply other types.
        plan = planned.get(_key(query, directories))
        if plan is not None:
            rows = scanned.get(plan.where)
            verified.append(VerifiedQuery(plan.where, plan.runs, read, whole, plan.today, plan.whole, plan.rows, rows))
    return verified_layout(title, verified, rows=_rows_of(table), writer="Spark" if trial.spark else "pyarrow")


def _key(query: Query, directories: set[str]) -> tuple[str, frozenset[Path_]]:
    """Return the predicate of a query and the columns that it reads, without columns in directory names."""
    folded = {name.casefold() for name in directories}
    return query.where, frozenset(it.path for it in query.columns if it.path[0].casefold() not in folded)


def _scanned(spark: SparkSession, directory: Path, queries: Sequence[Query]) -> dict[str, int]:
    """Run the queries that read most; return the number of rows that Spark's scans returned, by predicate."""
    from pyspark.sql import functions as fn

    from prune_assets.reading.reader import read
    from prune_assets.spark.scan_metrics import scan_metrics

    rows_by_query = {}
    for query in sorted(queries, key=lambda it: -it.runs * it.today)[:_MOST_RUN]:
        counted = read(str(directory), where=query.where, session=spark).agg(fn.count(fn.lit(1)))
        with own_jobs(spark, f"verify {directory}"):
            counted.collect()
        rows_by_query[query.where] = sum(scan.rows for scan in scan_metrics(counted))
    return rows_by_query


def _rows_of(table: Table) -> int:
    return int(table.read_all().groups.row_count.sum())


@contextmanager
def _folder_beside(table: Table, *, on_sample: bool) -> Iterator[Path]:
    """Yield a hidden folder next to a table, and remove it afterwards, also after a failure."""
    given = table.format.directory_of(str(table.given))
    if is_remote(given) and not on_sample:
        raise WrongUse(f"{redacted(given)}: verification writes nothing to object stores; verify on a sample")
    path = None if is_remote(given) else Path(local_path(given)).absolute()
    parent, name = (Path(gettempdir()), "table") if path is None else (path.parent, path.name)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(trial_folder(parent, name))
        except OSError as error:
            raise StorageFailure(f"{parent}: {error.strerror}; verification writes there temporarily") from None
        yield folder


def _copied_sample(original: Table, folder: Path) -> Table:
    """Write blocks of rows in their present order, and open them as a table.

    Partition columns are written into the files.
    """
    per_row = sum(cost.data for cost in costs_of(original.read_all()).values())
    rows = sampled_rows(original, min(_MOST_SAMPLED, max(1, int(_MOST_SAMPLED_BYTES / max(per_row, 1e-9)))))
    write_without_spark(rows, folder / SAMPLE, LayoutSpec(), table=original, bytes_per_row=per_row)
    return open_table(folder / SAMPLE, semantics=original.semantics)


def _check_size(table: Table) -> None:
    index = table.read_all()
    size = sum(cost.data for cost in costs_of(index).values()) * int(index.groups.row_count.sum())
    if size > _MOST_WITHOUT_SPARK:
        raise WrongUse(
            f"{redacted(table.name)}: {bytes_text(round(size))} are too large to write without Spark; verify on a "
            f"sample, or with Spark"
        )
