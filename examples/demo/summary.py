"""Read the demo's results from Dagster's history and print them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from rich.markup import escape
from rich.table import Table

from parquet_core.errors import PruneError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

REPORTS = ("narrow_range", "point_lookup", "q6", "or_columns")
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Result:
    """Results of one predicate: the saved report, and the metadata of its materialization."""

    name: str
    report: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def readings(self) -> list[Mapping[str, Any]]:
        """Rows of the readings table: Spark's default layout, sorted layout, sorted layout read with the plan."""
        return [record.data for record in self.metadata["prune/readings"]]


def read_results(instance: dg.DagsterInstance, run_id: str) -> list[Result]:
    """Return the results of all predicates from the materializations of a run."""
    results = []
    for name in REPORTS:
        event = instance.get_latest_materialization_event(dg.AssetKey(["skip_reports", name]))
        if event is None or event.run_id != run_id or event.asset_materialization is None:
            raise PruneError(f"skip_reports/{name}: the run did not materialize it; open the run in Dagster's UI")
        of_event = event.asset_materialization.metadata
        metadata = {
            key: value.records if isinstance(value, dg.TableMetadataValue) else value.value
            for key, value in of_event.items()
        }
        report = json.loads(Path(str(metadata["prune/report_json"])).read_text(encoding="utf-8"))
        results.append(Result(name, report, metadata))
    return results


def rows_differ(results: list[Result]) -> bool:
    """True if any predicate returned different rows with the plan than without it."""
    return not all(result.metadata["prune/rows_equal"] is True for result in results)


def print_summary(console: Console, results: list[Result], failed_checks: list[tuple[str, str]]) -> None:
    """Print the table of predicates, the mean of the point lookups, and the failed checks."""
    title = "Spark reads less: the table as Spark writes it by default | laid out | laid out, read with the plan"
    table = Table(title=title, title_justify="left", expand=False)
    table.add_column("predicate", no_wrap=True)
    for heading in ("files opened", "rows scanned", "MB of pages", "seconds", "planned in"):
        table.add_column(heading, justify="right")
    table.add_column("rows\nequal")
    for result in results:
        table.add_row(*_cells(result))
    console.print(table)
    for result in results:
        console.print(f"[bold]{result.name}[/]: {escape(result.report['predicate'])}", highlight=False, soft_wrap=True)
    for line in _lookup_lines(results):
        console.print(line, highlight=False, soft_wrap=True)
    console.print(_WHAT_TO_SEE, highlight=False, soft_wrap=True)
    for where, why in failed_checks:
        meant = " (as it should: the table is broken on purpose)" if where.startswith("broken/") else ""
        console.print(f"check failed{meant}: [bold]{where}[/]: {escape(why)}", highlight=False, soft_wrap=True)


_WHAT_TO_SEE = (
    "The layout lets Spark skip by itself. The plan adds what Spark cannot prove, such as an OR across two columns, "
    "and opens no file without a match. MB are compressed bytes of the pages that Spark reads, as predicted; files, "
    "rows and seconds were measured (the best of three, planning not included). No time is shown where the bytes read "
    "differ from those with the plan by less than a tenth."
)


def _cells(result: Result) -> Iterator[str]:
    readings = result.readings
    yield result.name
    for unit in ("files", "rows"):
        yield " | ".join(f"{reading[unit]:,}" for reading in readings)
    yield " | ".join(f"{reading['predicted bytes'] / MEGABYTE:.2f}" for reading in readings)
    yield " | ".join(f"{float(reading['seconds']):.2f}" if reading["seconds"] else "-" for reading in readings)
    yield f"{result.report['seconds'] * 1e3:.0f} ms"
    yield "yes" if result.metadata["prune/rows_equal"] is True else "[red]no[/]"


def _lookup_lines(results: list[Result]) -> Iterator[str]:
    for result in results:
        metadata = result.metadata
        if "lookups_planned" in metadata:
            yield (
                f"{result.name}: over {metadata['lookups_planned']} existing keys the mean of kept data is "
                f"{metadata['mean_kept_fraction']:.2%} of the bytes ({metadata['mean_kept_bytes'] / MEGABYTE:.3f} MB), "
                f"found with {metadata['mean_index_bytes'] / MEGABYTE:.3f} MB of page indexes and "
                f"{metadata['mean_bloom_bytes'] / MEGABYTE:.3f} MB of bloom filters; the key above is the median one"
            )


def failed_checks(instance: dg.DagsterInstance, run_id: str) -> list[tuple[str, str]]:
    """Return (asset and check, reason) for each failed check of a run."""
    failed = []
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        event = entry.dagster_event
        if event is None:
            continue
        evaluation = event.asset_check_evaluation_data
        if not evaluation.passed:
            where = f"{evaluation.asset_key.to_user_string()}: {evaluation.check_name}"
            failed.append((where, evaluation.description or "no reason given"))
    return failed
