"""Assets: tables written with a layout, and the skip reports of predicates on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dagster as dg

from prune_assets.dagster.metadata import layout_metadata, layout_version, skip_metadata, written_metadata
from prune_assets.dagster.resources import SparkSessionResource  # noqa: TC001 - Dagster reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.planner.plan import Plan
    from prune_assets.report.skip_report import SkipReport
    from prune_assets.spark.reading.comparison import Comparison, Reading

KINDS = {"parquet", "spark"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A predicate that was chosen when the asset ran, and what led to it, which the asset shows as metadata.

    >>> from prune_assets.dagster import Choice
    >>> Choice("id = 17", metadata={"chosen": "the id that most rows have"}).where
    'id = 17'
    """

    where: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


def build_table_asset(
    key: dg.AssetKey | str | Sequence[str],
    *,
    table: Path | str,
    layout: LayoutSpec,
    source: Callable[[SparkSession], DataFrame],
    deps: Sequence[dg.AssetKey] = (),
    description: str = "",
    group_name: str | None = None,
    written_as: LayoutSpec | None = None,
    options: Mapping[str, str] | None = None,
) -> dg.AssetsDefinition:
    """Build an asset that overwrites `table` with the rows of `source`, laid out as `layout`.

    >>> import dagster as dg
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import SparkSessionResource, build_table_asset
    >>> layout = pr.LayoutSpec(sort_by=["id"])
    >>> ids = build_table_asset("ids", table="lake/ids", layout=layout, source=lambda session: session.range(1000))
    >>> defs = dg.Definitions(assets=[ids], resources={"spark": SparkSessionResource()})
    >>> defs.resolve_assets_def("ids").metadata_by_key[ids.key]["prune/sort_by"]
    'id'

    `source`: makes the rows in the session that it is given. The asset needs a resource `spark`
    (SparkSessionResource); nothing starts Spark before the asset runs.
    `deps`, `description`, `group_name`: as Dagster's `asset` has them.
    `written_as`: what is really asked of the writer, when a table claims more than that.
    `options`: go to Spark's writer.

    When it runs, a `table` of Delta, Iceberg or Hudi is refused with WrongUse before Spark starts.
    """
    asked = layout if written_as is None else written_as
    key = dg.AssetKey.from_coercible(key)

    @dg.asset(
        key=key,
        deps=deps,
        group_name=group_name,
        kinds=KINDS,
        description=description,
        metadata=layout_metadata(layout, table),
        code_version=layout_version(asked),
    )
    def table_asset(spark: SparkSessionResource) -> dg.MaterializeResult[Any]:
        from prune_assets.spark.writing.table_formats import plain_directory
        from prune_assets.spark.writing.writer import write

        directory = plain_directory(table)
        df = source(spark.session)
        result = write(df, directory, layout=asked, mode="overwrite", options=options)
        return dg.MaterializeResult(metadata=written_metadata(result, df.schema, layout))

    return table_asset


def build_skip_report_asset(
    name: str,
    table_asset: dg.AssetKey | str | Sequence[str],
    where: str | Callable[[], Choice],
    *,
    table: Path | str,
    sum_column: str,
    reports: Path | str,
    baseline: Path | str | None = None,
    more_deps: Sequence[dg.AssetKey] = (),
    description: str = "",
    key_prefix: str | Sequence[str] = "skip_reports",
) -> dg.AssetsDefinition:
    """Build an asset that plans a predicate, reads it with and without the plan and reports both.

    >>> from prune_assets.dagster import build_skip_report_asset
    >>> report = build_skip_report_asset(
    ...     "first_ids", "ids", "id < 100", table="lake/ids", sum_column="id", reports="lake/reports"
    ... )
    >>> report.key.to_user_string()
    'skip_reports/first_ids'

    The asset is `<key_prefix>/<name>`; the report goes to `reports` as `<name>.json` and `<name>.html`. The asset fails
    when the readings differ in their rows. It needs a resource `spark` (SparkSessionResource).

    `table_asset`: the asset that writes `table`, which comes first; `more_deps`: others that do.
    `where`: Spark SQL, or a function that returns a Choice, for a predicate that depends on the data.
    `sum_column`: its sum is compared between the readings, with the number of rows and the sum of their hashes.
    `baseline`: a table with the same rows and without the layout, which is read for comparison too; name its asset in
    `more_deps`.
    """

    @dg.asset(
        key=dg.AssetKey(name).with_prefix(key_prefix),
        deps=[dg.AssetKey.from_coercible(table_asset), *more_deps],
        group_name="skip_reports",
        kinds=KINDS,
        description=description,
    )
    def skip_report(spark: SparkSessionResource) -> dg.MaterializeResult[Any]:
        from prune_assets.planner.plan import plan
        from prune_assets.spark.reading.comparison import compare
        from prune_assets.spark.writing.table_formats import plain_directory

        directory = plain_directory(reports)
        choice = Choice(where) if isinstance(where, str) else where()
        planned = plan(str(table), where=choice.where, session=spark.session)
        compared = compare(
            spark.session,
            planned,
            table=str(table),
            where=choice.where,
            sum_column=sum_column,
            baseline=None if baseline is None else str(baseline),
        )
        paths = _save(planned.report, directory, name)
        if not compared.equal:
            raise dg.Failure(
                f"{choice.where}: {compared.without.answer} without the plan, {compared.with_plan.answer} with it",
                metadata={"report": dg.MetadataValue.path(paths["report_html"])},
            )
        metadata = skip_metadata(planned.report) | _comparison_metadata(planned, compared) | dict(choice.metadata)
        if compared.baseline is not None:
            of_baseline = plan(str(baseline), where=choice.where, session=spark.session)
            metadata |= _baseline_metadata(of_baseline, compared.baseline)
        return dg.MaterializeResult(
            metadata=metadata | {kind: dg.MetadataValue.path(path) for kind, path in paths.items()}
        )

    return skip_report


def _save(report: SkipReport, directory: Path, name: str) -> dict[str, str]:
    directory.mkdir(parents=True, exist_ok=True)
    texts = {"json": report.to_json(), "html": report.to_html()}
    for suffix, text in texts.items():
        (directory / f"{name}.{suffix}").write_text(text, encoding="utf-8")
    return {f"report_{suffix}": str((directory / f"{name}.{suffix}").absolute()) for suffix in texts}


def _comparison_metadata(planned: Plan, compared: Comparison) -> dict[str, Any]:
    return {
        "rows_equal": compared.equal,
        "selected_rows": compared.with_plan.answer.rows,
        "checksum": str(compared.with_plan.answer.checksum),
        "predicted_rows": planned.report.kept.rows,
        "spark_seconds_without": compared.without.seconds,
        "spark_seconds_with": compared.with_plan.seconds,
        "spark_scanned_rows_without": compared.without.scanned_rows,
        "spark_scanned_rows_with": compared.with_plan.scanned_rows,
        "spark_scanned_files_without": compared.without.scanned_files,
        "spark_scanned_files_with": compared.with_plan.scanned_files,
    } | {
        f"predicted_{unit}_{_word(engine.name)}": getattr(engine.kept, unit)
        for engine in planned.report.engines
        for unit in ("rows", "bytes")
        # Where it opens files that the plan did not, nobody knows how many rows.
        if engine.kept.row_groups is not None
    }


def _baseline_metadata(planned: Plan, reading: Reading) -> dict[str, Any]:
    return {
        "baseline_seconds": reading.seconds,
        "baseline_scanned_rows": reading.scanned_rows,
        "baseline_scanned_files": reading.scanned_files,
        "baseline_predicted_bytes": planned.report.engines[0].kept.bytes,
    }


def _word(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name.lower())
