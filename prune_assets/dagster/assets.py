"""Assets: tables written with a layout, and the skip reports of predicates on them."""
# No `from __future__ import annotations` here: Dagster compares the annotation of `context` itself, not its text.

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import dagster as dg

from parquet_core.errors import WrongUse
from prune_assets.checks.when_empty import WhenEmpty, check_when_empty
from prune_assets.dagster.arguments import check_written
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.checks import layout_check_specs, layout_results
from prune_assets.dagster.metadata import (
    code_references,
    layout_metadata,
    layout_version,
    skip_metadata,
    written_metadata,
)
from prune_assets.dagster.resources import session_for
from prune_assets.report.markdown import as_code
from prune_assets.report.quantities import count_text, seconds_text
from prune_assets.report.wording import compared_engines
from prune_assets.sql.syntax.parsed import parse_predicate
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.planner.explain.plan import Plan
    from prune_assets.reading.comparison import MeasuredRead, ReadComparison
    from prune_assets.report.skip_report import Engine, SkipReport
    from prune_assets.tables.writes.write_result import Mode
    from prune_assets.writing.layout_file import LayoutSource


@dataclass(frozen=True, slots=True)
class Choice:
    """A predicate that was chosen when the asset ran, and what led to it, which the asset shows as metadata.

    >>> from prune_assets.dagster import Choice
    >>> Choice("id = 17", metadata={"chosen": "the id that most rows have"}).where
    'id = 17'
    """

    where: str
    metadata: "Mapping[str, Any]" = field(default_factory=dict)


def build_table_asset(
    key: AssetName,
    *,
    table: "Path | str",
    layout: "LayoutSource",
    source: "str | Path | Callable[[SparkSession], DataFrame]",
    format: str = "parquet",  # noqa: A002 - the word of DataFrameWriter
    mode: "Mode" = "overwrite",
    written_as: "LayoutSource | None" = None,
    options: "Mapping[str, str] | None" = None,
    check_layout: bool = False,
    when_empty: WhenEmpty = "pass",
    **asset_options: Any,
) -> dg.AssetsDefinition:
    """Build an asset that writes `table` with the rows of `source`, laid out as `layout`.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import SparkSessionResource, build_table_asset
    >>> layout = pr.LayoutSpec(sort_by=["id"])
    >>> ids = build_table_asset("ids", table="lake/ids", layout=layout, source="SELECT * FROM range(9)", pool="spark")
    >>> defs = dg.Definitions(assets=[ids], resources={"spark": SparkSessionResource()})
    >>> defs.resolve_assets_def("ids").metadata_by_key[ids.key]["prune/sort_by"]
    'id'

    `source`: a query in SQL, a Path or address of Parquet or Delta, or a function that makes the rows in the session
    that it is given. The asset needs a resource `spark` (SparkSessionResource, or your own); nothing starts Spark
    before the asset runs. An asset whose runs have partitions is made with `pruned_asset`.
    `layout`, `format`, `mode`: as `prune_assets.write` has them. `options`: go to Spark's writer.
    `written_as`: what is really asked of the writer, when a table claims more than that.
    `check_layout`: whether the checks of `build_layout_checks` are made by the run itself. Dagster shows no result of a
    check beside a run that did not make it; it cannot start these without writing the table again.
    `when_empty`: what a run does whose source has no rows. "pass" writes as it does with rows, so with the mode
    "overwrite" the table is empty afterwards. "skip" leaves the table as it is and makes no materialization, so assets
    of the same run that depend on this one are skipped. "fail" leaves it too, and fails without retries.
    All else (`deps`, `group_name`, `owners`, `retry_policy`, `automation_condition`, `pool`, ..) is passed to Dagster's
    `asset`.

    When it runs, a `table` that cannot be written so is refused with WrongUse before Spark starts.
    """
    layout = load_layout(layout)
    to_write = layout if written_as is None else load_layout(written_as)
    key = asset_key_of(key)
    _refuse_partitions(key, asset_options.get("partitions_def"))
    check_when_empty(when_empty)
    check_written(format, mode)

    described = layout_metadata(layout, table, format=format)
    defaults: dict[str, Any] = {"kinds": {format, "spark"}, "code_version": layout_version(to_write)}
    if when_empty == "skip":
        defaults["output_required"] = False
    if check_layout:
        asset_options["check_specs"] = [*(asset_options.get("check_specs") or ()), *layout_check_specs(key)]

    @built_asset(defaults | asset_options, described, key=key, required_resource_keys={"spark"})
    def table_asset(context: dg.AssetExecutionContext) -> Iterator[Any]:
        from prune_assets.reading.source_rows import rows_of
        from prune_assets.tables.target import refuse_place
        from prune_assets.writing.write import write_rows

        _refuse_partitions(key, context.assets_def.partitions_def)
        refuse_place(table, format)
        session = session_for(context)
        df = rows_of(source, session)
        result = write_rows(
            *(df, table),
            layout=to_write,
            format=format,
            mode=mode,
            options=options,
            only_by_rows=when_empty != "pass",
        )
        if when_empty == "fail" and not result.rows:
            raise no_rows(key, table)
        checked = list(layout_results(key, table, layout, session=session)) if check_layout else []
        if when_empty == "skip" and not result.rows:
            context.log.info("%s: the source has no rows, so the asset was not materialized", table)
            yield from checked
            return
        yield dg.MaterializeResult(metadata=written_metadata(result, df.schema, layout), check_results=checked)

    return table_asset


def no_rows(key: dg.AssetKey, table: object) -> dg.Failure:
    """Return the failure of an asset that must have rows."""
    return dg.Failure(
        f"{key.to_user_string()}: there are no rows to write, and when_empty is 'fail'; {table} was not changed",
        allow_retries=False,
    )


def asset_with(**options: Any) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Return Dagster's `asset` with options that are passed on, of which its overloads know nothing.

    Assets among `key` and `deps` are named as everywhere here.
    """
    if options.get("key") is not None:
        options["key"] = asset_key_of(options["key"])
    if options.get("deps") is not None:
        options["deps"] = [asset_key_of(dep) if isinstance(dep, str) else dep for dep in options["deps"]]
    return dg.asset(**options)  # type: ignore[no-any-return]  # see above


def built_asset(
    options: "Mapping[str, Any]", metadata: "Mapping[str, Any] | None" = None, **fixed: Any
) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Return Dagster's `asset` for a function of this package, with code references to the file of the user.

    `options`: the options of the user, which may override `metadata`.
    """
    described = code_references() | dict(metadata or {}) | dict(options.get("metadata") or {})
    return asset_with(**{**options, "metadata": described}, **fixed)


def _refuse_partitions(key: dg.AssetKey, partitions: object) -> None:
    if partitions is not None:
        raise WrongUse(
            f"{key.to_user_string()}: the asset is partitioned, and each run would write the whole table; use "
            "pruned_asset, which takes the partition column"
        )


def build_skip_report_asset(
    name: str,
    table_asset: AssetName,
    where: "str | Callable[[], Choice]",
    *,
    table: "Path | str",
    reports: "Path | str",
    baseline: "Path | str | None" = None,
    more_deps: "Sequence[AssetName]" = (),
    key_prefix: "str | Sequence[str]" = "skip_reports",
    reports_url: str | None = None,
    **asset_options: Any,
) -> dg.AssetsDefinition:
    """Build an asset that plans a predicate, reads it with and without the plan and reports both.

    >>> from prune_assets.dagster import build_skip_report_asset
    >>> report = build_skip_report_asset("first_ids", "ids", "id < 100", table="lake/ids", reports="lake/reports")
    >>> report.key.to_user_string()
    'skip_reports/first_ids'

    The asset is `<key_prefix>/<name>`; the report of each run goes to `reports` as `<name>/<run id>.json` and `.html`.
    Give the address at which that folder is served as `reports_url`, and the asset links the page: browsers open no
    file of this machine from Dagster's UI. `python -m http.server -b 127.0.0.1 -d REPORTS 8001` serves it as
    http://127.0.0.1:8001; an S3 website or CI's artifacts do as well.
    The asset fails when the readings differ: in the number of rows, or in the sum of their hashes. It needs a resource
    `spark` (SparkSessionResource, or your own).

    `table_asset`: the asset that writes `table`, which comes first; `more_deps`: others that do.
    `where`: Spark SQL, or a function that returns a Choice, for a predicate that depends on the data.
    `baseline`: a table with the same rows and without the layout, which is read for comparison too; name its asset in
    `more_deps`. All else is passed to Dagster's `asset`.

    Raises PredicateSyntaxError for `where` that is no SQL.
    """
    if isinstance(where, str):
        parse_predicate(where)

    defaults: dict[str, Any] = {
        "group_name": "skip_reports",
        "kinds": {"spark"},
        "description": f"What is skipped where {as_code(where)}." if isinstance(where, str) else None,
    }

    @built_asset(
        defaults | asset_options,
        key=dg.AssetKey(name).with_prefix(key_prefix),
        deps=[asset_key_of(table_asset), *map(asset_key_of, more_deps)],
        required_resource_keys={"spark"},
    )
    def skip_report(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        from prune_assets.planner.explain.plan import plan
        from prune_assets.reading.comparison import compare
        from prune_assets.tables.writes.table_formats import plain_directory

        directory = plain_directory(reports) / name
        session = session_for(context)
        choice = Choice(where) if isinstance(where, str) else where()
        planned = plan(str(table), where=choice.where, session=session)
        compared = compare(
            session,
            planned,
            table=str(table),
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

    return skip_report


def _save(report: "SkipReport", directory: "Path", name: str) -> dict[str, str]:
    directory.mkdir(parents=True, exist_ok=True)
    texts = {"json": report.to_json(), "html": report.to_html()}
    for suffix, text in texts.items():
        (directory / f"{name}.{suffix}").write_text(text, encoding="utf-8")
    return {suffix: str((directory / f"{name}.{suffix}").absolute()) for suffix in texts}


def _linked(path: str, reports_url: str | None) -> dg.MetadataValue[Any]:
    """Return the address of a report where its folder is served, else its path."""
    if reports_url is None:
        return dg.MetadataValue.path(path)
    file = Path(path)
    return dg.MetadataValue.url(f"{reports_url.rstrip('/')}/{quote(file.parent.name)}/{quote(file.name)}")


def _measured(report: "SkipReport", compared: "ReadComparison") -> str:
    """Tabulate what Spark's scans read, beside what was predicted of them."""
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
    """Describe the readings in a table, and by the numbers that are worth a plot."""
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
