"""An operator that rewrites the files of a table that do not match its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from prune_assets.airflow import arguments
from prune_assets.airflow.operator import TableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from prune_assets.airflow.arguments import ArgumentCheck
    from prune_assets.writing.layout_file import LayoutSource


class OptimizeTableOperator(TableOperator):
    """Rewrite the files of a table that do not match its layout.

    Small files and files with many deleted rows are rewritten too.

    >>> from prune_assets.airflow import OptimizeTableOperator
    >>> upkeep = OptimizeTableOperator(
    ...     task_id="optimize_orders", table="lake/orders", layout="layouts/orders.yaml", where="day >= DATE '{{ ds }}'"
    ... )
    >>> upkeep.template_fields[:3]
    ('table', 'layout', 'where')

    `layout`, `conn_id`: as in WriteTableOperator.
    `where`, `predicates`, `dry_run`, `rows`, `full`: as in `prune_assets.optimize`.
    `budget`: maximum bytes of files to rewrite, a number or 200GiB; later runs rewrite the rest.
    `when_empty`: "pass", "skip" or "fail" if no file is considered.

    A dry run, and a run on a table with nothing to do, do not start Spark, unless only a session's catalogs know the
    table. The XCom has the number and bytes of rewritten files, and the bytes that each predicate keeps, before and
    after.
    """

    template_fields: Sequence[str] = ("table", "layout", "where", "predicates", "budget", "conn_id")
    template_fields_renderers: ClassVar[dict[str, str]] = {"layout": "json"}
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {
        "layout": arguments.layout,
        "where": arguments.optional(arguments.text),
        "predicates": arguments.texts,
        "only_look": lambda _, value: arguments.boolean("dry_run", value),
        "rows": arguments.boolean,
        "full": arguments.boolean,
        "budget": arguments.optional(arguments.size),
        "conn_id": arguments.optional(arguments.text),
    }
    when_empty_line = "no file can hold matching rows, so no file was optimized"

    def __init__(
        self,
        *,
        layout: LayoutSource,
        where: str | None = None,
        predicates: Sequence[str] = (),
        dry_run: bool = False,
        rows: bool = False,
        full: bool = False,
        budget: int | str | None = None,
        conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.layout = layout
        self.where = where
        self.predicates = predicates
        self.only_look = dry_run  # BaseOperator has a method `dry_run`
        self.rows = rows
        self.full = full
        self.budget = budget
        self.conn_id = conn_id
        self.check_arguments()

    def run_on_table(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - signature of the base class
        """Optimize, and return the figures, without file names."""
        from functools import partial

        from prune_assets.airflow.spark import session_for
        from prune_assets.step_words import AIRFLOW
        from prune_assets.tables.catalogs.resolve import needs_session
        from prune_assets.writing.layout_file import load_layout
        from prune_assets.writing.optimize import optimize

        again = partial(
            optimize,
            table=str(self.table),
            layout=load_layout(self.layout),
            where=self.where,
            predicates=self.predicates,
            rows=self.rows,
            full=self.full,
            budget=None if self.budget is None else arguments.size("budget", self.budget),
        )
        spark = session_for(self.conn_id) if needs_session(str(self.table)) else None
        done = again(session=spark, dry_run=True)
        if not self.only_look and (done.picked or done.statements):
            done = again(session=spark or session_for(self.conn_id))
        for line in done.text(AIRFLOW).splitlines():
            self.log.info(line)
        figures = {key: value for key, value in done.as_json().items() if key != "picked"}
        return figures | {"picked_files": len(done.picked)} | ({} if done.considered else {"empty": True})
