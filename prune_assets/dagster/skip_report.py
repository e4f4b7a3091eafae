"""Skip reports of predicates: an asset that plans, reads with and without the plan, and reports both."""
# No `from __future__ import annotations`: Dagster needs the annotation of `context` as a class, not as a string.

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

import dagster as dg

from parquet_core.errors import WrongUse
from prune_assets.dagster.asset_options import AssetOptions, asset_with
from prune_assets.dagster.metadata import skip_metadata
from prune_assets.dagster.resources import session_for
from prune_assets.report.markdown import as_code
from prune_assets.report.quantities import count_text, seconds_text
from prune_assets.report.wording import compared_engines
from prune_assets.sql.syntax.parsed import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prune_assets.dagster.layout_table import LayoutTable
    from prune_assets.planner.explain.plan import Plan
    from prune_assets.reading.comparison import MeasuredRead, ReadComparison
    from prune_assets.report.skip_report import Engine, SkipReport


@dataclass(frozen=True, slots=True)
class Choice:
    """A predicate chosen when the asset runs, with metadata on the choice.

    The asset's page shows the metadata.

    >>> from prune_assets.dagster import Choice
    >>> Choice("id = 17", metadata={"chosen": "the id that most rows have"}).where
    'id = 17'
    """

    where: str
    metadata: "Mapping[str, Any]" = field(default_factory=dict)


def skip_report(
    self: "LayoutTable",
    name: str,
    where: "str | Callable[[], Choice] | None" = None,
    *,
    reports: "Path | str",
    baseline: "Path | str | None" = None,
    key_prefix: "str | Sequence[str]" = "skip_reports",
    reports_url: str | None = None,
    **options: Unpack[AssetOptions],
) -> dg.AssetsDefinition:
    """Make an asset that plans a predicate, reads with and without the plan, and reports both.

    >>> from prune_assets.dagster import LayoutTable
    >>> ids = LayoutTable("ids", "lake/ids", predicates={"first_ids": "id < 100"})
    >>> ids.skip_report("first_ids", reports="lake/reports").key.to_user_string()
    'skip_reports/first_ids'

    The asset is `<key_prefix>/<name>`; the report of each run is written to `reports` as `<name>/<run id>.json` and
    `.html`. Pass the address that serves this folder as `reports_url` to link the page: browsers do not open local
    files from Dagster's UI. `python -m http.server -b 127.0.0.1 -d REPORTS 8001` serves the folder as
    http://127.0.0.1:8001; an S3 website or CI artifacts work too.
    The asset fails if the two reads differ in the number of rows or in the sum of the row hashes. It needs a resource
    `spark` (SparkSessionResource, or your own).

    `name`: the name of one of the table's predicates, or a name for `where`.
    `where`: Spark SQL, or a function that returns a Choice if the predicate depends on the data.
    `baseline`: a table with the same rows but without the layout, read for comparison; add its asset to `deps`.
    `deps`: dependencies in addition to the table's asset. All other options are passed to Dagster's `asset`.

    Raises PredicateSyntaxError if `where` is not valid SQL, and WrongUse if the table has no predicate `name`.
    """
    if where is None and name not in self.predicates:
        raise WrongUse(
            f"{self.key.to_user_string()}: no predicate {name!r}; give where, or predicates={{{name!r}: ..}} of the "
            "table"
        )
    condition = self.predicates[name] if where is None else where
    if isinstance(condition, str):
        parse_predicate(condition)
    table = str(self.table)
    defaults: dict[str, Any] = {
        "group_name": "skip_reports",
        "kinds": {"spark"},
        "description": f"The data that Spark skips for {as_code(condition)}." if isinstance(condition, str) else None,
        "deps": [self.key],
        "required_resource_keys": {"spark"},
    }

    @asset_with(options, defaults, key=dg.AssetKey(name).with_prefix(key_prefix))
    def report_asset(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        from prune_assets.planner.explain.plan import plan
        from prune_assets.reading.comparison import compare
        from prune_assets.tables.writes.table_formats import plain_directory

        directory = plain_directory(reports) / name
        session = session_for(context)
        choice = Choice(condition) if isinstance(condition, str) else condition()
        planned = plan(table, where=choice.where, session=session)
        compared = compare(
            session,
            planned,
            table=table,
            where=choice.where,
            baseline=None if baseline is None else str(baseline),
        )
        paths = _save(planned.report, directory, context.run.run_id)
        page = _linked(paths["html"], reports_url)
        if not compared.equal:
            raise dg.Failure(
                f"{choice.where}: {compared.without.answer} without the plan, {compared.with_plan.answer} with it",
                metadata={"prune/report_html": page},
            )
        before = None if baseline is None else plan(str(baseline), where=choice.where, session=session)
        return dg.MaterializeResult(
            metadata=skip_metadata(planned.report, measured=[_measured(planned.report, compared)])
            | _comparison_metadata(planned, compared, before)
            | dict(choice.metadata)
            | {"prune/report_html": page, "prune/report_json": dg.MetadataValue.path(paths["json"])}
        )

    return report_asset


def _save(report: "SkipReport", directory: Path, name: str) -> dict[str, str]:
    directory.mkdir(parents=True, exist_ok=True)
    texts = {"json": report.to_json(), "html": report.to_html()}
    for suffix, text in texts.items():
        (directory / f"{name}.{suffix}").write_text(text, encoding="utf-8")
    return {suffix: str((directory / f"{name}.{suffix}").absolute()) for suffix in texts}


def _linked(path: str, reports_url: str | None) -> dg.MetadataValue[Any]:
    """Return the URL of a report if its folder is served, else its path."""
    if reports_url is None:
        return dg.MetadataValue.path(path)
    file = Path(path)
    return dg.MetadataValue.url(f"{reports_url.rstrip('/')}/{quote(file.parent.name)}/{quote(file.name)}")


def _measured(report: "SkipReport", compared: "ReadComparison") -> str:
    """Return a Markdown table of the rows that Spark's scans read and the predicted rows."""
    ways = zip(
        ("alone", "with the plan"), (compared.without, compared.with_plan), compared_engines(report), strict=True
    )
    timed = compared.without.seconds is not None
    lines = [
        f"| {way} | {reading.scanned_rows:,} | {_predicted_rows(engine)} |{_time(reading) if timed else ''}"
        for way, reading, engine in ways
    ]
    time, rule = (" time |", "---:|") if timed else ("", "")
    return "\n".join([f"| Spark | rows read | predicted |{time}", f"|---|---:|---:|{rule}", *lines])


def _time(reading: "MeasuredRead") -> str:
    return "" if reading.seconds is None else f" {seconds_text(reading.seconds)} |"


def _predicted_rows(engine: "Engine | None") -> str:
    return "" if engine is None else count_text(engine.kept.rows)


def _comparison_metadata(planned: "Plan", compared: "ReadComparison", baseline: "Plan | None") -> dict[str, Any]:
    """Return metadata that compares the reads: a table, and the numbers that Dagster plots."""
    spark = planned.report.engines[0].kept.bytes
    with_plan = planned.report.engines[1].kept.bytes if len(planned.report.engines) > 1 else planned.report.kept.bytes
    rows = [
        _reading_row("Spark alone", compared.without, spark),
        _reading_row("with the plan", compared.with_plan, with_plan),
    ]
    if compared.baseline is not None and baseline is not None:
        rows.insert(0, _reading_row("without the layout", compared.baseline, baseline.report.engines[0].kept.bytes))
    if all(reading.seconds is None for reading in (compared.without, compared.with_plan, compared.baseline) if reading):
        rows = [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
    return {
        "prune/readings": dg.MetadataValue.table([dg.TableRecord(row) for row in rows]),
        "prune/rows_equal": compared.equal,
        "prune/selected_rows": compared.with_plan.answer.rows,
        "prune/scanned_rows": compared.with_plan.scanned_rows,
        **({} if compared.with_plan.seconds is None else {"prune/read_seconds": compared.with_plan.seconds}),
        **({} if compared.without.seconds is None else {"prune/read_seconds_without": compared.without.seconds}),
    }


def _reading_row(way: str, reading: "MeasuredRead", predicted_bytes: int) -> dict[str, str | int | float]:
    return {
        "reading": way,
        "files": reading.scanned_files,
        "rows": reading.scanned_rows,
        "predicted bytes": predicted_bytes,
        "seconds": "" if reading.seconds is None else f"{reading.seconds:.3f}",
    }
