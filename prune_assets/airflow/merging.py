"""An operator that merges changes into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from prune_assets.airflow import arguments
from prune_assets.airflow.operator import TableOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context
    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.airflow.arguments import ArgumentCheck


class MergeTableOperator(TableOperator):
    """Merge changes into a Delta or Iceberg table, as `prune_assets.merge` does.

    >>> from prune_assets.airflow import MergeTableOperator
    >>> merge = MergeTableOperator(
    ...     task_id="merge_orders",
    ...     table="/lake/orders",
    ...     source="SELECT * FROM parquet.`/landing/orders/{{ ds }}`",
    ...     on="t.id = s.id",
    ... )
    >>> merge.when
    ['MATCHED UPDATE', 'NOT MATCHED INSERT']

    `source`: a SQL query (or a `.sql` file with one), a path or address of Parquet or Delta, or a function that takes
    the Spark session and returns a DataFrame.
    `on`, `when`: as in `prune_assets.merge`; rows of the table are `t`, changes are `s`.
    `conn_id`: as in `WriteTableOperator`.

    The task returns the number of changed rows, and how many files the MERGE opened and would have opened without the
    condition.
    """

    template_fields: Sequence[str] = ("table", "source", "on", "when", "conn_id")
    template_ext: Sequence[str] = (".sql",)
    template_fields_renderers: ClassVar[dict[str, str]] = {"source": "sql", "on": "sql"}
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {
        "on": arguments.text,
        "when": arguments.texts,
        "conn_id": arguments.optional(arguments.text),
    }
    when_empty_line = "the source has no rows"

    def __init__(
        self,
        *,
        source: str | Path | Callable[[SparkSession], DataFrame],
        on: str,
        when: Sequence[str] = ("MATCHED UPDATE", "NOT MATCHED INSERT"),
        conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow calls a template field that is callable, so `source` must not hold the function.
        self.make_rows = source if callable(source) else None
        self.source: Any = None if callable(source) else source
        self.on = on
        self.when: Any = when if isinstance(when, str) else list(when)
        self.conn_id = conn_id
        self.check_arguments()

    def check_arguments(self, *, rendered: bool = False) -> None:
        """Also check that there is a source."""
        from parquet_core.errors import WrongUse

        super().check_arguments(rendered=rendered)
        if self.make_rows is None and not self.source:
            raise WrongUse(f"source = {self.source!r}: give a query, a path, or a function that makes a DataFrame")

    def run_on_table(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - signature of the base class
        """Merge, and return the figures."""
        from prune_assets.airflow.spark import session_for
        from prune_assets.merging.run_merge import merge
        from prune_assets.reading.source_rows import rows_of

        session = session_for(self.conn_id)
        changes = rows_of(self.make_rows or self.source, session)
        result = merge(str(self.table), changes, on=self.on, when=self.when, session=session)
        self.log.info("%s", result)
        return result.figures()
