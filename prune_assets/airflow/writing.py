"""An operator that writes a table with a layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from prune_assets.airflow import arguments
from prune_assets.airflow.operator import TableOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context
    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.airflow.arguments import ArgumentCheck
    from prune_assets.tables.writes.write_result import Mode, WriteResult
    from prune_assets.writing.layout_file import LayoutSource


class WriteTableOperator(TableOperator):
    """Write a table with a layout, and prove it, as `prune_assets.write` does.

    >>> from prune_assets.airflow import WriteTableOperator
    >>> write = WriteTableOperator(
    ...     task_id="write_orders",
    ...     table="lake/orders",
    ...     source="SELECT * FROM parquet.`landing/orders/{{ ds }}`",
    ...     layout={"partition_by": ["day"], "sort_by": ["id"], "bloom": {"id": 0.01}},
    ...     format="delta",
    ...     mode="replace_partitions",
    ... )
    >>> write.retries
    2

    `source`: a SQL query (or a `.sql` file with one), a path or address of Parquet or Delta, or a function that takes
    the Spark session and returns a DataFrame.
    `layout`: its keys, a LayoutSpec, or the path of a `layout.yaml`.
    `format`, `mode`, `where`, `options`: as in `prune_assets.write`, but `mode` must be given: a second run gives the
    same table with "overwrite" and "replace_partitions", and adds the rows again with "append".
    `conn_id`: a connection whose host is a Spark Connect server (`sc://host:15002`) or a master (`local[4]`), with
    Spark options as its extra; without it Spark runs in the task.
    `when_empty`: "pass", "skip" or "fail" if the source has no rows. A source without
    rows replaces rows only with "pass"; in the mode "overwrite" the table is then empty.

    If a worker is killed, the table contains either its old rows or all new rows.
    """

    template_fields: Sequence[str] = ("table", "source", "layout", "format", "mode", "where", "options", "conn_id")
    template_ext: Sequence[str] = (".sql",)
    template_fields_renderers: ClassVar[dict[str, str]] = {"source": "sql", "layout": "json", "options": "json"}
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {
        "layout": arguments.layout,
        "format": arguments.format_name,
        "mode": arguments.mode,
        "where": arguments.optional(arguments.text),
        "options": arguments.optional(arguments.mapping),
        "conn_id": arguments.optional(arguments.text),
    }
    when_empty_line = "the source has no rows"

    def __init__(
        self,
        *,
        source: str | Path | Callable[[SparkSession], DataFrame],
        layout: LayoutSource,
        format: str | None = None,  # noqa: A002 - the name in DataFrameWriter
        mode: Mode | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
        conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow calls a template field that is callable, so `source` must not hold the function.
        self.make_rows = source if callable(source) else None
        self.source: Any = None if callable(source) else source
        self.layout = layout
        self.format = format
        self.mode = mode
        self.where = where
        self.options = options
        self.conn_id = conn_id
        self.check_arguments()

    def check_arguments(self, *, rendered: bool = False) -> None:
        """Also check that there is a source, and that the mode accepts a condition."""
        from parquet_core.errors import WrongUse
        from prune_assets.tables.writes.write_result import check_mode

        super().check_arguments(rendered=rendered)
        if self.make_rows is None and not self.source:
            raise WrongUse(f"source = {self.source!r}: give a query, a path, or a function that makes a DataFrame")
        if rendered or not arguments.is_template([self.mode, self.where]):
            check_mode(self.mode, self.where)

    def run_on_table(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - signature of the base class
        """Write, and return the figures."""
        from parquet_core.quantities import counted
        from prune_assets.tables.target import refuse_place
        from prune_assets.writing.layout_file import load_layout

        layout = load_layout(self.layout)
        refuse_place(self.table, self.format)
        done = self._write(layout)
        version = "" if done.version is None else f"version {done.version}, "
        self.log.info(
            "%s: %s%s in %s, %s",
            *(done.table, version, counted(done.rows, "row")),
            *(counted(len(done.files), "file"), counted(done.bytes, "byte")),
        )
        return _numbers(done) if done.rows else _numbers(done) | {"empty": True}

    def _write(self, layout: LayoutSpec) -> WriteResult:
        from pyspark.errors import AnalysisException

        from parquet_core.errors import WrongUse
        from prune_assets.airflow.spark import session_for
        from prune_assets.reading.source_rows import rows_of
        from prune_assets.writing.write import write_rows

        assert self.mode is not None, "check_arguments refuses it"
        session = session_for(self.conn_id)
        try:
            return write_rows(
                rows_of(self.make_rows or self.source, session),
                str(self.table),
                layout=layout,
                format=self.format,
                mode=self.mode,
                where=self.where,
                options=self.options,
                only_by_rows=self.when_empty != "pass",
            )
        except AnalysisException as error:
            raise WrongUse(f"source: {str(error).splitlines()[0]}") from None


def _numbers(done: WriteResult) -> dict[str, Any]:
    from parquet_core.printable import redacted

    return {
        "table": redacted(done.table),
        "rows": done.rows,
        **done.figures(),
        "files_replaced": len(done.removed),
        **({} if done.version is None else {"version": done.version}),
    }
