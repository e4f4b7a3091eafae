"""An operator that reports what predicates skip in a table, and fails where that is too little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperatorLink

from prune_assets.airflow.operator import TableOperator
from prune_assets.airflow.task_errors import TableTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import BaseOperator, Context
    from airflow.sdk.types import TaskInstanceKey

    from prune_assets.report.skip_report import SkipReport


class SkipReportLink(BaseOperatorLink):
    """The button of a task that opens the page of its report.

    >>> from prune_assets.airflow import SkipReportOperator
    >>> report = SkipReportOperator(task_id="report_orders", table="lake/orders", predicates=["id = 17"])
    >>> [link.name for link in report.operator_extra_links]
    ['Skip report']
    """

    name = "Skip report"
    xcom_key = "skip_report_url"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - asked in the task
        """Return where the page is that the task has just written; empty where nobody serves it."""
        return getattr(operator, "report_url", "")


class SkipReportOperator(TableOperator):
    """Plan predicates and report what each skips, out of how much, by which level; starts no Spark.

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

    `predicates`: Spark SQL by a name, or a list of it. `min_skipped`: a part of the bytes, from 0 to 1; the task fails,
    after every report was written, where Spark with the plan of a predicate is predicted to skip less, and names it;
    where that is not predicted, the best possible counts. `columns`: those that the queries read
    beside those of the predicate; all by default. `time_zone`: that of the sessions that run the queries.

    The XCom has the figures of each predicate, by their names in `prune_assets.report.figures`. `report_dir`: a local
    folder for pages, as `<DAG>/<run>/<task>/<name>.html`; `reports_url`: the address at which somebody serves it, for
    the button "Skip report" of the task.
    """

    template_fields: Sequence[str] = (
        *("table", "predicates", "min_skipped", "columns", "time_zone", "report_dir", "reports_url"),
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"predicates": "json"}
    operator_extra_links = (SkipReportLink(),)

    def __init__(
        self,
        *,
        predicates: Mapping[str, str] | Sequence[str],
        min_skipped: float | None = None,
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

    def run_on_table(self, context: Context) -> dict[str, Any]:
        """Report, and return the figures by the name of the predicate."""
        from parquet_core.printable import redacted
        from prune_assets.report.wording import headline, shortfall

        least = _share(self.min_skipped)
        reports = {name: self._report(name, where) for name, where in _named(self.predicates).items()}
        self._save(context, reports)
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
            # A task that fails returns nothing; whoever looks why wants the figures.
            context["ti"].xcom_push(key="return_value", value=figures)
            raise TableTaskError(f"{figures['table']}: {problems[0]}{_more(len(problems) - 1)}")
        return figures

    def _report(self, name: str, where: str) -> SkipReport:
        from parquet_core.errors import UnknownColumn
        from prune_assets.errors import PredicateSyntaxError, PredicateTypeError
        from prune_assets.explain.plan import plan
        from prune_assets.session.spark_versions import installed_version
        from prune_assets.sql.semantics import SparkSemantics

        session = SparkSemantics.of(installed_version(), time_zone=self.time_zone)
        try:
            return plan(str(self.table), where=where, columns=self.columns, session=session).report
        except (PredicateSyntaxError, PredicateTypeError, UnknownColumn) as error:
            raise type(error)(f"predicate {name}: {error}") from None

    def _save(self, context: Context, reports: Mapping[str, SkipReport]) -> None:
        """Write the pages, one for each predicate, and remember the address of the one to open."""
        from urllib.parse import quote

        from parquet_core.printable import redacted
        from prune_assets.report.output import write_whole
        from prune_assets.writing.table_formats import plain_directory

        if self.report_dir is None:
            return
        ti = context["ti"]
        index = "" if ti.map_index in {None, -1} else f".{ti.map_index}"
        below = [_file_name(part) for part in (ti.dag_id, ti.run_id, f"{ti.task_id}{index}")]
        directory = plain_directory(self.report_dir).joinpath(*below)
        pages = {_file_name(name): report.to_html() for name, report in reports.items()}
        first = next(iter(pages))
        if len(pages) > 1:
            first = "index"
            pages["index"] = _index(pages)
        directory.mkdir(parents=True, exist_ok=True)
        for name, page in pages.items():
            write_whole(directory / f"{name}.html", page)
        self.log.info("report: %s", redacted(str(directory / f"{first}.html")))
        if self.reports_url:
            self.report_url = "/".join([self.reports_url.rstrip("/"), *map(quote, below), quote(f"{first}.html")])
            self.log.info("report: %s", redacted(self.report_url))


def _named(predicates: Any) -> dict[str, str]:
    """Return predicates by a name; those of a list are numbered from 1."""
    from collections.abc import Mapping

    from parquet_core.errors import WrongUse

    if isinstance(predicates, str):
        predicates = [predicates]
    named = (
        dict(predicates)
        if isinstance(predicates, Mapping)
        else {str(number): where for number, where in enumerate(predicates, start=1)}
    )
    if not named:
        raise WrongUse(
            "predicates: there is no predicate; name at least one, e.g. {'one_day': \"day = DATE '2024-03-01'\"}"
        )
    return named


def _share(min_skipped: Any) -> float:
    """Return the gate, which a template makes text of."""
    from parquet_core.errors import WrongUse

    try:
        least = 0.0 if min_skipped is None else float(min_skipped)
    except (TypeError, ValueError):
        least = -1.0
    if not 0 <= least <= 1:
        raise WrongUse(f"min_skipped = {min_skipped!r}: must be a share of the bytes, from 0 to 1, e.g. 0.9")
    return least


def _numbers(report: SkipReport) -> dict[str, Any]:
    from prune_assets.report.figures import figures_of

    levels = {level.level: level.skipped_bytes for level in report.levels}
    return {"predicate": report.predicate, **figures_of(report), "levels": levels}


def _file_name(name: str) -> str:
    """Return a name that is one part of a path, and none that leads elsewhere.

    >>> _file_name("manual__2026-01-01T00:00:00+00:00"), _file_name("../a b")
    ('manual__2026-01-01T00:00:00+00:00', '__a_b')
    """
    import re

    return re.sub(r"[^\w.:+-]|^\.+", "_", name)


def _index(pages: Mapping[str, str]) -> str:
    from html import escape

    links = "".join(f'<li><a href="{escape(name)}.html">{escape(name)}</a></li>' for name in pages)
    return f'<!doctype html><meta charset="utf-8"><title>Skip reports</title><h1>Skip reports</h1><ul>{links}</ul>\n'


def _more(count: int) -> str:
    return f" (and {count:,} more)" if count else ""
