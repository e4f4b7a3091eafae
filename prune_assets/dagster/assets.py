"""Assets: tables written with a layout, and skip reports of predicates."""
# No `from __future__ import annotations`: Dagster compares the annotation of `context` itself, not its source text.

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
    """A predicate chosen when the asset runs, with metadata on the choice.

    The asset's page shows the metadata.

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
    """Build an asset that writes the rows of `source` to `table` with a layout.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import SparkSessionResource, build_table_asset
    >>> layout = pr.LayoutSpec(sort_by=["id"])
    >>> ids = build_table_asset("ids", table="lake/ids", layout=layout, source="SELECT * FROM range(9)", pool="spark")
    >>> defs = dg.Definitions(assets=[ids], resources={"spark": SparkSessionResource()})
    >>> defs.resolve_assets_def("ids").metadata_by_key[ids.key]["prune/sort_by"]
    'id'

    `source`: a SQL query, a Path or address of Parquet or Delta, or a function that takes the Spark session and returns
    a DataFrame. The asset needs a resource `spark` (SparkSessionResource, or your own); Spark starts when the asset
    runs. For an asset with partitions use `pruned_asset`.
    `layout`, `format`, `mode`: as in `prune_assets.write`. `options`: options for Spark's writer.
    `written_as`: the layout that the writer applies, if it differs from the `layout` that the table claims.
    `check_layout`: True to run the checks of `build_layout_checks` in the same run. Dagster then shows their results
    with the run, but cannot start these checks without writing the table again.
    `when_empty`: behavior if the source has no rows. "pass" writes as usual, so with the mode "overwrite" the table is
    empty afterwards. "skip" leaves the table unchanged and makes no materialization, so downstream assets in the same
    run are skipped. "fail" leaves the table unchanged and fails without retries.
    All other options (`deps`, `group_name`, `owners`, `retry_policy`, `automation_condition`, `pool`, ..) are passed to
    Dagster's `asset`.

    The run raises WrongUse before Spark starts if `table` cannot be written in this format.
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
    """Return the failure of an asset without rows whose `when_empty` is "fail"."""
    return dg.Failure(
        f"{key.to_user_string()}: there are no rows to write, and when_empty is 'fail'; {table} was not changed",
        allow_retries=False,
    )


def asset_with(**options: Any) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Return Dagster's `asset` decorator with options that its overloads do not declare.

    Asset names in `key` and `deps` are converted as by `asset_key_of`.
    """
    if options.get("key") is not None:
        options["key"] = asset_key_of(options["key"])
    if options.get("deps") is not None:
        options["deps"] = [asset_key_of(dep) if isinstance(dep, str) else dep for dep in options["deps"]]
    return dg.asset(**options)  # type: ignore[no-any-return]  # see above


def built_asset(
    options: "Mapping[str, Any]", metadata: "Mapping[str, Any] | None" = None, **fixed: Any
) -> "Callable[[Callable[..., Any]], dg.AssetsDefinition]":
    """Return Dagster's `asset` decorator with code references to the user's file.

    `options`: the user's options; their `metadata` overrides the argument `metadata`.
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
    """Build an asset that plans a predicate, reads with and without the plan, and reports both.

    >>> from prune_assets.dagster import build_skip_report_asset
    >>> report = build_skip_report_asset("first_ids", "ids", "id < 100", table="lake/ids", reports="lake/reports")
    >>> report.key.to_user_string()
    'skip_reports/first_ids'

    The asset is `<key_prefix>/<name>`; the report of each run is written to `reports` as `<name>/<run id>.json` and
    `.html`. Pass the address that serves this folder as `reports_url` to link the page: browsers do not open local
    files from Dagster's UI. `python -m http.server -b 127.0.0.1 -d REPORTS 8001` serves the folder as
    http://127.0.0.1:8001; an S3 website or CI artifacts work too.
    The asset fails if the two reads differ in the number of rows or in the sum of the row hashes. It needs a resource
    `spark` (SparkSessionResource, or your own).

    `table_asset`: the asset that writes `table`; `more_deps`: other assets to materialize first.
    `where`: Spark SQL, or a function that returns a Choice if the predicate depends on the data.
    `baseline`: a table with the same rows but without the layout, read for comparison; add its asset to `more_deps`.
    All other options are passed to Dagster's `asset`.

    Raises PredicateSyntaxError if `where` is not valid SQL.
    """
    if isinstance(where, str):
        parse_predicate(where)

    defaults: dict[str, Any] = {
        "group_name": "skip_reports",
        "kinds": {"spark"},
        "description": f"The data that Spark skips for {as_code(where)}." if isinstance(where, str) else None,
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
