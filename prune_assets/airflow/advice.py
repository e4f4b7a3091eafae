"""Operators that read a workload and advise the layout of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator

from prune_assets.airflow import arguments
from prune_assets.airflow.operator import TableOperator
from prune_assets.airflow.task_errors import failing_in_one_line, writing_to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context

    from prune_assets.advisor.workload.load import WorkloadSource
    from prune_assets.airflow.arguments import ArgumentCheck


class ReadWorkloadOperator(BaseOperator):
    """Read the workload of Spark's event logs, and write it as JSON.

    >>> from prune_assets.airflow import ReadWorkloadOperator
    >>> ran = ReadWorkloadOperator(
    ...     task_id="queries",
    ...     event_logs="/logs/spark",
    ...     out="lake/workloads/{{ ds }}.json",
    ...     since="{{ macros.ds_add(ds, -1) }}",
    ...     until="{{ ds }}",
    ... )
    >>> ran.out
    'lake/workloads/{{ ds }}.json'

    `event_logs`, `since`, `until`, `app`, `user`: as in `prune_assets.Workload.read`.
    `out`: path of the JSON file on the worker.

    The operator does not start Spark. The XCom has the number of queries, the bytes that they read, and the bytes that
    they read without selecting a row.
    """

    template_fields: Sequence[str] = ("event_logs", "out", "since", "until")

    def __init__(
        self,
        *,
        event_logs: str | Path | Sequence[str | Path],
        out: str | Path,
        since: str | None = None,
        until: str | None = None,
        app: str | Sequence[str] | None = None,
        user: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.event_logs = event_logs
        self.out = out
        self.since = since
        self.until = until
        self.app = app
        self.user = user

    def execute(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - Airflow's signature
        """Read the logs, write the file, and return its figures."""
        from pathlib import Path

        with failing_in_one_line():
            from prune_assets.advisor.workload.costs import costs_of
            from prune_assets.advisor.workload.json_form import to_json
            from prune_assets.advisor.workload.query_shapes import Workload
            from prune_assets.report.output import write_whole

            found = Workload.read(self.event_logs, since=self.since, until=self.until, app=self.app, user=self.user)
            for problem in found.problems:
                self.log.warning(problem)
            with writing_to("out", self.out):
                Path(self.out).parent.mkdir(parents=True, exist_ok=True)
                write_whole(Path(self.out), to_json(found) + "\n")
            costs = costs_of(found)
        return {
            "workload": str(self.out),
            "queries": float(sum(cost.runs for cost in costs)),
            "bytes_read": sum(cost.totals.bytes_read or 0 for cost in costs),
            "needless_bytes": sum(cost.needless_bytes or 0 for cost in costs),
            "not_understood": sum(found.not_understood.values()),
        }


class AdviseLayoutOperator(TableOperator):
    """Advise the layout with which a table's queries read the fewest bytes; change nothing.

    >>> from prune_assets.airflow import AdviseLayoutOperator
    >>> advice = AdviseLayoutOperator(
    ...     task_id="advise_orders", table="lake/orders", workload="lake/workloads", latest=28, page="pages/orders.html"
    ... )
    >>> advice.template_fields
    ('table', 'workload', 'out', 'page')

    The operator reads metadata and a sample of the rows, and does not start Spark.

    `workload`: a JSON file of ReadWorkloadOperator or a folder of such files, event logs, or a list of predicates.
    `latest`: number of most recent files to use from a folder with a file for each day.
    `out`: a file for the advised `layout.yaml`, written only if a layout is advised.
    `page`: a file for the HTML page.
    `when_empty`: "pass", "skip" or "fail" if the table has no rows.

    The XCom has the verdict, the bytes that the queries read today, and the bytes that they would read.
    """

    template_fields: Sequence[str] = ("table", "workload", "out", "page")
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {
        "latest": arguments.optional(arguments.count),
        "out": arguments.optional(arguments.path),
        "page": arguments.optional(arguments.path),
    }
    when_empty_line = "it has no rows, so no layout is better than another"

    def __init__(
        self,
        *,
        workload: WorkloadSource,
        latest: int | None = None,
        out: str | Path | None = None,
        page: str | Path | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.workload = workload
        self.latest = latest
        self.out = out
        self.page = page
        self.check_arguments()

    def run_on_table(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - signature of the base class
        """Advise, write the requested files, and return the figures."""
        from pathlib import Path

        from parquet_core.printable import redacted
        from prune_assets.advisor.advise import advise
        from prune_assets.advisor.workload.load import load_workload
        from prune_assets.errors import NoRows
        from prune_assets.report.output import write_whole

        name = redacted(str(self.table))
        try:
            advice = advise(
                str(self.table), workload=load_workload(self.workload, table=str(self.table), latest=self.latest)
            )
        except NoRows:
            return {"table": name, "verdict": None, "layout": None, "empty": True}
        for text in str(advice).splitlines():
            self.log.info(text)
        if self.out is not None and advice.advised is not None:
            with writing_to("out", self.out):
                write_whole(Path(self.out), advice.layout_yaml())
        if self.page is not None:
            with writing_to("page", self.page):
                write_whole(Path(self.page), advice.to_html())
        return {
            "table": name,
            "verdict": advice.verdict,
            "layout": None if advice.advised is None else advice.advised.title,
            "today_bytes": advice.today,
            "advised_bytes": advice.today if advice.advised is None else advice.advised.bytes,
        }
