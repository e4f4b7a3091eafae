"""Dagster metadata of written tables and of skip reports."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from prune_assets.report.figures import figures_of
from prune_assets.report.markdown import picture, summary
from prune_assets.tables.catalogs.names import is_name
from prune_assets.tables.uri import table_uri

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import dagster as dg
    from pyspark.sql.types import StructType

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.merging.report import MergeReport
    from prune_assets.merging.run_merge import MergeResult
    from prune_assets.report.skip_report import SkipReport
    from prune_assets.tables.writes.write_result import WriteResult

# Metadata of an asset that the IO manager reads.
TABLE, FORMAT, MODE, LAYOUT = "prune/table", "prune/format", "prune/mode", "prune/layout"
WHEN_EMPTY = "prune/when_empty"


def layout_version(layout: LayoutSpec) -> str:
    """Return a code version that changes with the layout.

    Dagster then marks the asset as stale.
    """
    return hashlib.sha256(json.dumps(asdict(layout), sort_keys=True).encode()).hexdigest()[:12]


def storage_metadata(
    table: str | Path | None,
    *,
    format: str | None = None,  # noqa: A002 - as in `write`
) -> dict[str, Any]:
    """Return the location and storage kind of a table under Dagster's own metadata keys."""
    from prune_assets.tables.opening import FORMATS

    kind = next((each.storage_kind for each in FORMATS if each.name == format), FORMATS[-1].storage_kind)
    return {**({} if table is None else place_metadata(table)), "dagster/storage_kind": kind}


def place_metadata(table: str | Path) -> dict[str, str]:
    """Return a table's address, or its catalog name, under Dagster's own metadata keys.

    >>> place_metadata("lake.web.events")
    {'dagster/table_name': 'lake.web.events'}
    """
    return {"dagster/table_name" if is_name(table) else "dagster/uri": table_uri(table)}


def layout_metadata(
    layout: LayoutSpec,
    table: str | Path | None,
    *,
    format: str | None = None,  # noqa: A002 - as in `write`
) -> dict[str, Any]:
    """Return the metadata of an asset's layout, available before the table has data."""
    import dagster as dg

    return {
        **storage_metadata(table, format=format),
        "prune/layout": dg.MetadataValue.json(asdict(layout)),
        "prune/sort_by": ", ".join(layout.sort_by),
    }


def written_metadata(
    result: WriteResult, schema: StructType, layout: LayoutSpec, *, partitions: int = 0
) -> dict[str, Any]:
    """Return the metadata of a materialization: figures of the written files.

    `partitions`: number of the asset's partitions that the run wrote. Dagster shows a run's figures on each of its
    partitions. Figures of a run with several partitions, or of a run without rows, which leaves its partition
    unchanged, are therefore named `run_..`, so that plots by partition omit them.
    """
    of_run = partitions > 1 or (partitions == 1 and not result.rows)
    of = "run_" if of_run else ""
    rows = "prune/run_rows" if of_run else "dagster/partition_row_count" if partitions else "dagster/row_count"
    return {
        rows: result.rows,
        "dagster/column_schema": column_schema(schema, layout),
        **result.figures(prefix=f"prune/{of}"),
        **place_metadata(result.table),
        **({} if result.version is None else {"prune/version": result.version}),
    }


def column_schema(schema: StructType, layout: LayoutSpec) -> dg.TableSchema:
    """Return the columns of a table, with sort positions and bloom filters as tags and constraints."""
    import dagster as dg

    sort = {key.column.casefold(): (position, key) for position, key in enumerate(layout.sort_keys, start=1)}
    bloom = {name.casefold(): probability for name, probability in layout.bloom.items()}
    columns = []
    for field in schema.fields:
        tags, notes = {}, []
        if (found := sort.get(field.name.casefold())) is not None:
            position, key = found
            tags["sort_key"] = str(position)
            notes.append(f"sorted {'descending' if key.descending else 'ascending'} ({position})")
        if (probability := bloom.get(field.name.casefold())) is not None:
            tags["bloom_filter"] = f"{probability:g}"
            notes.append(f"bloom filter {probability:.2%}")
        constraints = dg.TableColumnConstraints(nullable=field.nullable, other=notes)
        columns.append(dg.TableColumn(field.name, field.dataType.simpleString(), constraints=constraints, tags=tags))
    return dg.TableSchema(columns=columns)


def merge_metadata(report: MergeReport, result: MergeResult | None = None) -> dict[str, Any]:
    """Return the report of a MERGE as metadata: the text, and numbers that Dagster plots.

    `result`: the result of the MERGE. None if it was only planned.
    """
    import dagster as dg

    total = max(report.total.bytes, 1)
    figures: dict[str, Any] = {
        "prune/merge_keys": report.keys,
        "prune/merge_files_opened": report.with_condition.files,
        "prune/merge_files_opened_as_written": report.as_written.files,
        "prune/merge_opened_share": report.with_condition.bytes / total,
        "prune/merge_opened_share_as_written": report.as_written.bytes / total,
        "prune/merge": dg.MetadataValue.md(f"```\n{report}\n```"),
    }
    if result is None:
        return figures
    measured = {
        "prune/merge_files_measured": None if result.opened is None else result.opened.files,
        "prune/rows_inserted": result.rows_inserted,
        "prune/rows_updated": result.rows_updated,
        "prune/rows_deleted": result.rows_deleted,
        "prune/version": result.version,
    }
    return figures | {name: value for name, value in measured.items() if value is not None}


def skip_metadata(report: SkipReport, *, measured: Sequence[str] = ()) -> dict[str, Any]:
    """Return a skip report as metadata.

    The metadata are a summary, a picture, a table of levels, and numbers that Dagster plots.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> from prune_assets.dagster import skip_metadata
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> metadata = skip_metadata(pr.plan(table, where="id < 150").report)
    >>> metadata["prune/kept_rows"], metadata["prune/total_rows"], round(metadata["prune/skipped_bytes_share"], 1)
    (200, 1000, 0.8)

    Dagster's UI shows the picture next to the summary. `measured`: Markdown paragraphs that replace the predictions in
    the summary.
    """
    import dagster as dg

    return {
        "prune/summary": dg.MetadataValue.md(summary(report, measured=measured)),
        "prune/picture": dg.MetadataValue.md(picture(report)),
        "prune/levels": dg.MetadataValue.table([dg.TableRecord(_level_row(level)) for level in report.levels]),
        "prune/predicate": report.predicate,
        **figures_of(report, prefix="prune/"),
    }


def _level_row(level: Any) -> dict[str, str | int]:
    return {
        "level": level.level,
        "status": level.status,
        "rows total": _known(level.total.rows),
        "rows kept": _known(level.kept.rows),
        "bytes total": level.total.bytes,
        "bytes kept": level.kept.bytes,
        "skipped rows": _known(level.skipped_rows),
        "skipped bytes": level.skipped_bytes,
        "why": level.why,
    }


def _known(count: int | None) -> int | str:
    return "not counted" if count is None else count
