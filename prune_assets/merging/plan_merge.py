"""Plan a MERGE: the target's files that hold a key of the source, and the condition that skips all other files."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy
from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.layout.overlap import intervals_of, overlap_depth
from parquet_core.printable import redacted
from parquet_core.pruning.evidence.listed_values import listed_values
from parquet_core.quantities import counted
from prune_assets.cache_directory import metadata_cache
from prune_assets.merging.implied_condition import ImpliedCondition, implied_condition, key_columns
from prune_assets.merging.merge_source import given_source, is_timeless, named_source, source_sql, target_name
from prune_assets.merging.report import FileExtent, MergeReport, Obstacle, WhyNotLess
from prune_assets.planner.explain.plan import Plan
from prune_assets.planner.join_keys import Join, JoinedColumn, key_conditions, with_keys
from prune_assets.planner.plan_read import plan_opened
from prune_assets.reading.reader import filter_text
from prune_assets.spark.lower_predicate import lower_predicate, semantics_for
from prune_assets.sql.merge_condition import Unused
from prune_assets.sql.merge_statement import ClauseCase, merge_statement, parse_merge, table_location
from prune_assets.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.arrays import Flags
    from parquet_core.pruning.predicate import Predicate
    from parquet_core.storage import DataFile
    from parquet_core.trust.bounds import Bounds
    from prune_assets.merging.merge_source import MergeSource
    from prune_assets.planner.join_keys import JoinKeys
    from prune_assets.sql.merge_statement import MergeStatement
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.table import Table

# Files count as overlapping if, on average, more than this number of files may hold the same value.
_DEEP = 3.0
# With more files than this, no footer is read. The engine opens all these files anyway, because it knows only the log.
_MOST_FOOTERS = 1_000
# An absolute path, also of Windows, or an address.
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")
_UNUSED = {
    Unused.DISJUNCTION: "its OR has no equality in every branch",
    Unused.CAST_OF_TARGET: "it casts the target's column; cast the source instead",
    Unused.EXPRESSION_OF_TARGET: "it computes with the target's column",
    Unused.NOT_AN_EQUALITY: "it is no equality",
    Unused.SUBQUERY: "it has a subquery",
    Unused.AMBIGUOUS: "both tables have a column of a name without a qualifier",
}


@dataclass(frozen=True, repr=False)
class MergePlan:
    """The files of its target that a MERGE opens; returned by `plan_merge`.

    `parsed`: the statement as given.
    `surviving_files`: files of the target that may hold a key of the source.
    `plan`: the plan of the target's rows that can have a partner. None if so many files may hold a key that no footer
    was read.
    """

    parsed: MergeStatement
    surviving_files: tuple[DataFile, ...]
    plan: Plan | None
    report: MergeReport

    @property
    def condition(self) -> str | None:
        """The condition to add to ON. It follows from ON and the source keys, so the result stays the same.

        None if the condition would save nothing.
        """
        return self.report.condition

    @property
    def statement(self) -> str:
        """The MERGE with the condition."""
        return self.report.statement

    def __str__(self) -> str:
        return str(self.report)

    def __repr__(self) -> str:
        report = self.report
        return f"MergePlan({report.target!r}: opens {report.with_condition}, {report.as_written} as written)"


def plan_merge(
    target: str,
    source: str | pa.Table | DataFrame,
    *,
    on: str,
    when: Sequence[str],
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
) -> MergePlan:
    """Plan a MERGE: which files of the target hold a key of the source, and how an engine opens only these.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import deltalog
    >>> import prune_assets as pr
    >>> table, names = tempfile.mkdtemp(), ("low.parquet", "high.parquet")
    >>> created = deltalog.create_table(table, pa.schema({"k": pa.int64()}))
    >>> for name, first in zip(names, (0, 100)):
    ...     pq.write_table(pa.table({"k": range(first, first + 100)}), f"{table}/{name}")
    >>> snapshot = deltalog.open_snapshot(table)
    >>> adds = deltalog.adds_of(table, snapshot.schema, [deltalog.NewFile(name) for name in names])
    >>> appended = deltalog.append(snapshot, adds)
    >>> source = pa.table({"k": [7, 12]})
    >>> planned = pr.plan_merge(table, source, on="t.k = s.k", when=["MATCHED UPDATE", "NOT MATCHED INSERT"])
    >>> planned.condition, planned.report.as_written.files, planned.report.with_condition.files
    ('(t.k = 7L) OR (t.k = 12L)', 2, 1)

    `target`: the path or name of a Delta or Iceberg table. A name may be followed by an alias; the default alias is
    `t`.
    `source`: an Arrow table, a DataFrame, or the name or path of a table; with a session also a query. Its alias is
    `s`.
    `on`: the condition of the MERGE.
    `when`: its clauses. Parts that mean all columns may be left out: "MATCHED UPDATE", "NOT MATCHED INSERT",
    "MATCHED AND s.gone DELETE".
    `session`: the Spark session that will run the MERGE. `semantics`: settings of this session, to plan without a
    session.

    Raises the errors of `plan`, PredicateSyntaxError for a text that is not understood, and UnsupportedFeature for a
    target without MERGE, such as plain files.
    """
    name = source_sql(source)
    target = target_name(target)

    def parsed(
        targets: Sequence[str] | None = None, sources: Sequence[str] | None = None, *, case_sensitive: bool = False
    ) -> MergeStatement:
        return merge_statement(
            target,
            name,
            on,
            when,
            target_columns=targets,
            source_columns=sources,
            case_sensitive=case_sensitive,
        )

    return _planned(parsed, None if isinstance(source, str) else given_source(source, session), session, semantics)


def plan_merge_sql(
    sql: str, *, session: SparkSession | None = None, semantics: SparkSemantics | None = None
) -> MergePlan:
    """Plan a MERGE statement, as `plan_merge` does. A source that is a query needs a session."""

    def parsed(
        targets: Sequence[str] | None = None, sources: Sequence[str] | None = None, *, case_sensitive: bool = False
    ) -> MergeStatement:
        return parse_merge(sql, target_columns=targets, source_columns=sources, case_sensitive=case_sensitive)

    return _planned(parsed, None, session, semantics)


def _planned(
    parsed: Callable[..., MergeStatement],
    source: MergeSource | None,
    session: SparkSession | None,
    semantics: SparkSemantics | None,
) -> MergePlan:
    started = time.perf_counter()
    semantics = semantics_for(session, semantics)
    written = parsed()
    location = table_location(written.target)
    if "/" in location and not _ABSOLUTE.match(location):
        raise WrongUse(f"{written.target}: Spark takes only absolute paths; write {Path(location).absolute()}")
    table = open_table(location, semantics=semantics, session=session, cache=metadata_cache())
    if table.version_number is None:
        raise UnsupportedFeature(f"{redacted(table.name)}: Spark has no MERGE for plain files; the target is no table")
    names = list(dict.fromkeys(column.path[0] for column in [*table.columns, *table.partitions]))
    source = named_source(written.source, session, semantics) if source is None else source
    statement = parsed(names, source.columns, case_sensitive=semantics.case_sensitive)
    keys = tuple(
        JoinedColumn(key.target, key.source, key.null_safe) for key in statement.keys if is_timeless(key.source)
    )
    joins = [Join(source.keys(statement), keys)] if keys else []
    where = " AND ".join(statement.target_conditions) or "true"
    written_where = lower_predicate(where, table, session=session, semantics=semantics)
    conditions = tuple(key_conditions(join, table.columns, semantics) for join in joins)
    held = table.answers(with_keys(written_where, conditions).predicate).kept
    plan = None
    if np.count_nonzero(held) <= _MOST_FOOTERS:
        plan = Plan(**vars(plan_opened(table, where=where, session=session, depth="pages", joins=joins, columns=[])))
        files = plan.index.groups.files
        held = np.isin(np.arange(len(files)), plan.surviving_numbers)
    else:
        files = table.read(np.zeros(len(held), np.bool_)).groups.files
    target = _MergeTarget(table, written_where.predicate, np.array([file.size for file in files], np.int64), held)
    report = _report(statement, target, conditions[0] if conditions else None, started)
    surviving = tuple(files[i] for i in np.flatnonzero(held).tolist())
    return MergePlan(statement, surviving, plan, report)


class _MergeTarget(NamedTuple):
    """The target of a MERGE.

    `where`: the part of ON that restricts the target alone.
    `sizes`: bytes of each file. `held`: flags of the files that may hold a key.
    """

    table: Table
    where: Predicate
    sizes: NDArray[np.int64]
    held: Flags


def _report(statement: MergeStatement, target: _MergeTarget, join: JoinKeys | None, started: float) -> MergeReport:
    table, where, sizes, held = target
    is_off = any(clause.case is ClauseCase.NOT_MATCHED_BY_SOURCE for clause in statement.clauses)
    everything = np.ones(len(sizes), np.bool_)
    written = everything if is_off else table.answers(where).kept
    implied = ImpliedCondition(None, written)
    if join is not None and join.conjuncts and not is_off:
        implied = implied_condition(join, table, where, sizes, held)
    condition = None
    if implied.predicate is not None:
        condition = filter_text(implied.predicate, name=statement.target_column)
    return MergeReport(
        target=redacted(table.name),
        version=table.version_number,
        keys=None if join is None or not join.conjuncts else join.count,
        keys_in_no_file=None if join is None else _count_keys_in_no_file(join, table),
        total=_extent(sizes, everything),
        as_written=_extent(sizes, written),
        with_condition=_extent(sizes, implied.opened),
        # The MERGE also changes rows without a partner, which any file may hold.
        holding=_extent(sizes, everything if is_off else held),
        obstacles=tuple(_obstacles(statement, table, join, implied.opened)),
        condition=condition,
        statement=statement.sql if condition is None else statement.with_condition(condition),
        seconds=time.perf_counter() - started,
    )


def _extent(sizes: NDArray[np.int64], chosen: Flags) -> FileExtent:
    return FileExtent(int(np.count_nonzero(chosen)), int(sizes[chosen].sum()))


def _obstacles(statement: MergeStatement, table: Table, join: JoinKeys | None, opened: Flags) -> Iterator[Obstacle]:
    off = [clause.sql for clause in statement.clauses if clause.case is ClauseCase.NOT_MATCHED_BY_SOURCE]
    yield from (Obstacle(WhyNotLess.SWITCHED_OFF, sql) for sql in off)
    if not statement.keys:
        yield Obstacle(WhyNotLess.NO_KEY, statement.on)
    elif not statement.target_conditions and not off:
        yield Obstacle(WhyNotLess.NO_CONDITION, statement.on)
    elif bool(opened.all()) and not off:
        yield Obstacle(WhyNotLess.NO_EFFECT, " AND ".join(statement.target_conditions))
    for key in statement.keys:
        if not is_timeless(key.source):
            yield Obstacle(WhyNotLess.NOT_USED, key.sql, "its value depends on the current time")
    for sql, unused in statement.unused:
        yield Obstacle(WhyNotLess.NOT_USED, sql, _UNUSED[unused])
    if join is None:
        return
    for each in join.unused:
        yield Obstacle(WhyNotLess.KEY_NOT_USED, each.column, "; ".join(filter(None, (each.reason, each.remedy))))
    for column in key_columns(join)[0]:
        yield from _obstacles_of_column(".".join(column.path), table.file_bounds(column.path), opened)


def _obstacles_of_column(name: str, bounds: Bounds | None, opened: Flags) -> Iterator[Obstacle]:
    if bounds is None:
        return
    intervals = intervals_of(bounds)
    unknown = int(intervals.unknown.sum())
    if unknown:
        yield Obstacle(WhyNotLess.NO_STATISTICS, name, f"{unknown:,} of {counted(len(bounds), 'file')}")
    depth = overlap_depth(intervals)
    if depth is not None and depth > _DEEP and np.count_nonzero(opened) > _DEEP:
        yield Obstacle(WhyNotLess.OVERLAP, name, f"{depth:.0f} files may hold a value, on average")


def _count_keys_in_no_file(join: JoinKeys, table: Table) -> int | None:
    """Return how many keys have a value that no file can hold; None if no column has bounds."""
    columns, tuples = key_columns(join)
    rows = [column.values for column in columns] if tuples is None else list(tuples.values)
    if tuples is None and len(columns) != 1:
        return None
    absent: Flags | None = None
    for column, values in zip(columns, rows, strict=True):
        bounds = table.file_bounds(column.path)
        if bounds is None:
            continue
        missing = _without_file(column.values, bounds)
        flags = flags_from(pc.is_in(values, value_set=missing)) if len(missing) else np.zeros(len(values), np.bool_)
        absent = flags if absent is None else absent | flags
    return None if absent is None else int(np.count_nonzero(absent))


def _without_file(values: pa.Array, bounds: Bounds) -> pa.Array:
    """Return the values outside of the bounds of every file."""
    listed = listed_values(values, bounds.lower.type)
    low, high = listed.places(bounds.lower), listed.places(bounds.upper)
    if bounds.lower.null_count or bounds.upper.null_count:
        return values[:0]
    covered = np.zeros(len(listed.ascending) + 1, np.int64)
    np.add.at(covered, low // 2, 1)
    np.add.at(covered, (high + 1) // 2, -1)
    return listed.ascending.filter(from_numpy(np.cumsum(covered)[:-1] == 0)).cast(values.type)
