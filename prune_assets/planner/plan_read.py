"""Plan a read: open the table, lower the predicate, evaluate the levels."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.pruning import prune
from parquet_core.pruning.predicate import replaced
from prune_assets.cache_directory import metadata_cache
from prune_assets.planner.columns import check_names, columns_to_read
from prune_assets.planner.join_keys import key_conditions, with_keys
from prune_assets.planner.planned_read import Depth, PlannedRead, locator_of
from prune_assets.planner.value_tests import value_tests
from prune_assets.spark.lower_predicate import lower_predicate, semantics_for
from prune_assets.spark.stores import reach_as
from prune_assets.tables.opening import open_table, retry_on_stale_listing

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

    from prune_assets.planner.join_keys import Join
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.table import Table


def plan_read(
    table: str | os.PathLike[str] | Sequence[str],
    *,
    where: str | Column,
    columns: Sequence[str] | None = None,
    session: SparkSession | None = None,
    semantics: SparkSemantics | None = None,
    depth: Depth = "pages",
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
    joins: Sequence[Join] = (),
    for_rows: bool = False,
) -> PlannedRead:
    """Plan a read; arguments and errors are documented in `prune_assets.plan`.

    The metadata that was read is cached on disk. `joins`: only rows that have a partner in each join are planned.
    `for_rows`: the caller will read rows by pages.
    """
    if depth not in {"row_groups", "pages"}:
        raise WrongUse(f"depth={depth!r}: must be 'row_groups' or 'pages'")
    check_names(columns)
    # Excluded from the planning time: a new session takes seconds to resolve its time zone, once.
    semantics = semantics_for(session, semantics)
    if session is not None:
        reach_as(session, table, allow)
    started = time.perf_counter()

    def plan_once() -> PlannedRead:
        opened = open_table(
            table,
            semantics=semantics,
            session=session,
            version=version,
            timestamp=timestamp,
            allow=allow,
            cache=metadata_cache(),
            whole_below=_executor_files(session),
        )
        return plan_opened(
            opened,
            where=where,
            columns=columns,
            session=session,
            depth=depth,
            started=started,
            joins=joins,
            for_rows=for_rows,
        )

    return retry_on_stale_listing(plan_once)


def plan_opened(
    opened: Table,
    *,
    where: str | Column,
    columns: Sequence[str] | None = None,
    session: SparkSession | None,
    depth: Depth,
    started: float | None = None,
    joins: Sequence[Join] = (),
    for_rows: bool = False,
) -> PlannedRead:
    """Plan a read of an opened table, with the settings that it was opened with.

    `started`: clock value (seconds) when planning began.
    """
    started = time.perf_counter() if started is None else started
    if session is not None:
        opened.format.check_columns(opened, session)
    semantics = opened.semantics
    written = lower_predicate(where, opened, session=session, semantics=semantics)
    keys = tuple(key_conditions(join, opened.columns, semantics) for join in joins)
    lowered = with_keys(written, keys)
    tests = value_tests(lowered, partitions=opened.partitions, session=session, semantics=semantics)
    predicate = replaced(lowered.predicate, tests)
    answers = opened.answers(predicate)
    if session is not None:
        from prune_assets.planner.executors import ask_executors

        # Executors cannot run the value tests: only this process can query the session.
        elsewhere = ask_executors(session, opened, lowered.predicate, answers, pages=depth == "pages")
        answers = replace(answers, elsewhere=elsewhere)
    index = opened.read(answers.left)
    if answers.elsewhere is not None:
        from prune_assets.planner.executors import put_rows

        put_rows(index, answers.elsewhere)
    read = columns_to_read(index.groups.columns, columns, predicate, partitions=index.groups.partitions)
    located = read if for_rows else ()
    evaluation = prune(predicate, index, pages=depth == "pages", files=answers, located=located)
    index.save()
    planned = PlannedRead(
        table=opened,
        semantics=semantics,
        lowered=lowered,
        where=written,
        columns=read,
        index=index,
        evaluation=evaluation,
        seconds=time.perf_counter() - started,
        requests=index.groups.traffic.requests,
        fetched=dict(index.groups.traffic.bytes),
        depth=depth,
        locator="unfinished" if opened.format.is_unfinished(opened) else locator_of(opened.given),
        tests=tests,
        joins=keys,
    )
    opened.format.save(opened)
    return planned


def _executor_files(spark: SparkSession | None) -> int | None:
    """Return the number of files from which Spark's executors read footers; None for never."""
    if spark is None:
        return None
    from prune_assets.planner.executors import executor_files

    return executor_files(spark)
