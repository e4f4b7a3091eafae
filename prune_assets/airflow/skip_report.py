"""An operator that reports the data that predicates skip, and fails if they skip too little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperatorLink

from prune_assets.airflow import arguments
from prune_assets.airflow.operator import TableOperator
from prune_assets.airflow.task_errors import TableTaskError, writing_to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import BaseOperator, Context
    from airflow.sdk.types import TaskInstanceKey

    from prune_assets.airflow.arguments import ArgumentCheck
    from prune_assets.report.skip_report import SkipReport


class SkipReportLink(BaseOperatorLink):
    """A button of a task that opens the page of its report.

    >>> from prune_assets.airflow import SkipReportOperator
    >>> report = SkipReportOperator(task_id="report_orders", table="lake/orders", predicates=["id = 17"])
    >>> [link.name for link in report.operator_extra_links]
    ['Skip report']
    """

    name = "Skip report"
    xcom_key = "skip_report_url"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - Airflow's signature
        """Return the address of the page that the task has just written.

        Returns "" without a `reports_url`.
        """
        return getattr(operator, "report_url", "")


class SkipReportOperator(TableOperator):
    """Plan predicates and report the bytes that each pruning level skips; starts no Spark.

    >>> from prune_assets.airflow import SkipReportOperator
    >>> report = SkipReportOperator(
    ...     task_id="report_orders",
    ...     table="lake/orders",
    ...     predicates={"one_day": "day = DATE '{{ ds }}'", "one_order": "id = 17"},
    ...     min_skipped=0.9,
    ...     report_dir="reports",
    ...     reports_url="http://127.0.0.1:8001",
    ... )
    >>> report.template_fields[:2]
    ('table', 'predicates')

    `predicates`: Spark SQL by name, or a list.
    `min_skipped`: minimum share of its columns' bytes that each query must skip, such as 0.9 or 90%. It is compared
    with the share predicted for Spark with the plan, or with the best possible share if there is no prediction. The
    task fails after all reports are written, and names the predicates that skip less.
    `columns`: columns that the queries read in addition to those of the predicate; all by default.
    `time_zone`: session time zone of the queries.
    `when_empty`: "pass", "skip" or "fail" if the table has no files.

    `report_dir`: a local folder for pages, as `<DAG>/<run>/<task>/<name>.html`.
    `reports_url`: the address that serves this folder, for the task's button "Skip report".

    The XCom has the figures of each predicate, under the names in `prune_assets.report.figures`.
    """

    template_fields: Sequence[str] = (
        *("table", "predicates", "min_skipped", "columns", "time_zone", "report_dir", "reports_url"),
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"predicates": "json"}
    checks: ClassVar[Mapping[str, ArgumentCheck]] = {
        "predicates": arguments.predicates,
        "min_skipped": arguments.optional(arguments.share),
        "columns": arguments.optional(arguments.texts),
        "time_zone": arguments.optional(arguments.time_zone),
        "report_dir": arguments.optional(arguments.path),
        "reports_url": arguments.optional(arguments.text),
    }
    when_empty_line = "the table has no files to skip"
    operator_extra_links = (SkipReportLink(),)

    def __init__(
        self,
        *,
        predicates: Mapping[str, str] | Sequence[str],
        min_skipped: float | str | None = None,
        columns: Sequence[str] | None = None,
        time_zone: str | None = None,
        report_dir: str | Path | None = None,
        reports_url: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.predicates = predicates
        self.min_skipped = min_skipped
        self.columns = columns
        self.time_zone = time_zone
        self.report_dir = report_dir
        self.reports_url = reports_url
        self.report_url = ""
        self.check_arguments()

    def run_on_table(self, context: Context) -> dict[str, Any]:
        """Report, and return the figures by predicate name."""
        from parquet_core.printable import redacted
        from prune_assets.report.wording import headline, shortfall

        least = 0.0 if self.min_skipped is None else arguments.share("min_skipped", self.min_skipped)
        folder = self._folder(context)
        named = arguments.named_predicates(self.predicates)
        reports = {name: self._report(name, where) for name, where in named.items()}
        if folder is not None:
            self._save(folder, reports)
        for name, report in reports.items():
            self.log.info("%s: %s", name, headline(report))
        figures = {
            "table": redacted(str(self.table)),
            "predicates": {name: _numbers(report) for name, report in reports.items()},
        }
        problems = [
            f"{name}: {problem}"
            for name, report in reports.items()
            if (problem := shortfall(report, least)) is not None
        ]
        for problem in problems:
            self.log.error(problem)
        if problems:
            # A failed task returns no XCom, but the figures help to find the cause.
            context["ti"].xcom_push(key="return_value", value=figures)
            more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
            raise TableTaskError(f"{figures['table']}: {problems[0]}{more}")
        return figures if any(report.total.files for report in reports.values()) else figures | {"empty": True}

    def _report(self, name: str, where: str) -> SkipReport:
        from parquet_core.errors import UnknownColumn
        from prune_assets.errors import PredicateSyntaxError, PredicateTypeError
        from prune_assets.planner.explain.plan import plan
        from prune_assets.spark.spark_versions import installed_version
        from prune_assets.sql.semantics import SparkSemantics

        semantics = SparkSemantics.of(installed_version(), time_zone=self.time_zone)
        try:
            return plan(str(self.table), where=where, columns=self.columns, semantics=semantics).report
        except (PredicateSyntaxError, PredicateTypeError, UnknownColumn) as error:
            raise type(error)(f"predicate {name}: {error}") from None

    def _folder(self, context: Context) -> Path | None:
        """Return the folder of the pages, created before planning; None without a `report_dir`."""
        from prune_assets.tables.writes.table_formats import plain_directory

        if self.report_dir is None:
            return None
        ti = context["ti"]
        index = "" if ti.map_index in {None, -1} else f".{ti.map_index}"
        below = [_file_name(part) for part in (ti.dag_id, ti.run_id, f"{ti.task_id}{index}")]
        folder = plain_directory(self.report_dir).joinpath(*below)
        with writing_to("report_dir", self.report_dir):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _save(self, folder: Path, reports: Mapping[str, SkipReport]) -> None:
        """Write a page for each predicate, and store the address of the page to open."""
        from urllib.parse import quote

        from parquet_core.printable import redacted
        from prune_assets.report.output import write_whole

        pages = {_file_name(name): report.to_html() for name, report in reports.items()}
        first = next(iter(pages))
        if len(pages) > 1:
            first = "index"
            pages["index"] = _index(pages)
        with writing_to("report_dir", self.report_dir):
            for name, page in pages.items():
                write_whole(folder / f"{name}.html", page)
        self.log.info("report: %s", redacted(str(folder / f"{first}.html")))
        if self.reports_url:
            parts = [*map(quote, folder.parts[-3:]), quote(f"{first}.html")]
            self.report_url = "/".join([self.reports_url.rstrip("/"), *parts])
            self.log.info("report: %s", redacted(self.report_url))


def _numbers(report: SkipReport) -> dict[str, Any]:
    from prune_assets.report.figures import figures_of

    levels = {level.level: level.skipped_bytes for level in report.levels}
    return {"predicate": report.predicate, **figures_of(report), "levels": levels}


def _file_name(name: str) -> str:
    """Return a name that is safe as a single part of a path.

    >>> _file_name("manual__2026-01-01T00:00:00+00:00"), _file_name("../a b")
    ('manual__2026-01-01T00:00:00+00:00', '__a_b')
    """
    import re

    return re.sub(r"[^\w.:+-]|^\.+", "_", name)


def _index(pages: Mapping[str, str]) -> str:
    from html import escape

    links = "".join(f'<li><a href="{escape(name)}.html">{escape(name)}</a></li>' for name in pages)
    return f'<!doctype html><meta charset="utf-8"><title>Skip reports</title><h1>Skip reports</h1><ul>{links}</ul>\n'
