"""Options of commands that read rows, converted to arguments of the reading functions."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from parquet_core.errors import WrongUse
from prune_assets.spark.spark_versions import installed_version
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.types.zones import check_zone_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from prune_assets.reading.read_stats import ReadStats

    Command = Callable[..., Any]

_SETTING = re.compile(r"\s*spark\.sql\.session\.timeZone(?:\s*[=:]\s*|\s+)(\S+)\s*")


class RowSelection(NamedTuple):
    """The predicate, the settings and the version to read.

    The fields are arguments of `read_arrow`, `count` and similar functions.
    """

    where: str
    semantics: SparkSemantics
    version: int | None
    timestamp: str | None


def row_options(command: Command) -> Command:
    """Add the options of a `selection`, and `--stats`, to a command."""

    @wraps(command)
    def selecting(
        *, where: str, version: int | None, timestamp: str | None, time_zone: str | None, **options: Any
    ) -> Any:
        selection = RowSelection(where, semantics_of(time_zone), version, timestamp)
        return command(selection=selection, **options)

    made: Command = selecting
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def version_options(command: Command) -> Command:
    """Add the options `--version` and `--timestamp` to a command; UsageError if both are given."""

    @click.option(
        "--version", type=click.IntRange(min=0), metavar="N", help="A version of a Delta table; by default the latest."
    )
    @click.option(
        "--timestamp",
        metavar="TIME",
        help="The version of a Delta table at a time with a zone, e.g. 2024-01-31T12:00:00+00:00.",
    )
    @wraps(command)
    def checked(*, version: int | None, timestamp: str | None, **options: Any) -> Any:
        if version is not None and timestamp is not None:
            raise click.UsageError("--version and --timestamp cannot be combined; pass one of them")
        return command(version=version, timestamp=timestamp, **options)

    return checked


@contextmanager
def showing_reads(*, always: bool) -> Iterator[ReadStats]:
    """Show the progress of a read on a terminal's stderr.

    Yields the statistics to pass to the read. At the end, prints what was fetched if stderr is a terminal, or `always`.
    """
    from prune_assets.reading.read_stats import ReadStats
    from prune_assets.spark.progress import showing

    stats = ReadStats()
    with showing("reading metadata", lambda: str(stats)):
        yield stats
    if always or sys.stderr.isatty():
        click.echo(str(stats), err=True)


def listed_names(option: str, text: str | None) -> list[str] | None:
    """Split names at commas; UsageError for an empty name."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise click.UsageError(f"{option} {text!r}: an empty name; write {option} a,b")
    return names


def semantics_of(time_zone: str | None, spark_version: str | None = None) -> SparkSemantics:
    """Return the semantics of predicates for a Spark version and a time zone.

    By default these are the installed version and the configured time zone.
    """
    if time_zone is not None:
        _check(time_zone)
    semantics = SparkSemantics.of(installed_version() if spark_version is None else spark_version)
    return replace(semantics, time_zone=configured_time_zone() if time_zone is None else time_zone)


def _check(time_zone: str) -> None:
    """Raise WrongUse for an unknown time zone.

    The message names PRUNE_TIME_ZONE if this variable sets the zone.
    """
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("time_zone")
    try:
        check_zone_name(time_zone)
    except WrongUse as error:
        if source is not ParameterSource.ENVIRONMENT:
            raise
        raise WrongUse(f"PRUNE_TIME_ZONE: {error}") from None


_OPTIONS = (
    click.option("--where", default="true", metavar="SQL", help="The predicate, in Spark SQL; by default all rows."),
    version_options,
    click.option(
        "--time-zone",
        envvar="PRUNE_TIME_ZONE",
        metavar="ZONE",
        help="Session time zone, e.g. UTC; by default PRUNE_TIME_ZONE, or the zone in spark-defaults.conf of "
        "SPARK_CONF_DIR.",
    ),
    click.option(
        "--stats", is_flag=True, help="Print to stderr how much was read; on a terminal it is always printed."
    ),
)


def configured_time_zone() -> str | None:
    """Return spark.sql.session.timeZone of the spark-defaults.conf in SPARK_CONF_DIR; None if not set."""
    from prune_assets.sql.types.zones import zone_named

    directory = os.environ.get("SPARK_CONF_DIR")
    try:
        text = (Path(directory) / "spark-defaults.conf").read_text(encoding="utf-8") if directory else ""
    except (OSError, UnicodeDecodeError):
        return None
    zones = [match[1] for line in text.splitlines() if (match := _SETTING.fullmatch(line))]
    # The last setting wins; a zone that only Java recognizes counts as unknown.
    return zones[-1] if zones and zone_named(zones[-1]) is not None else None
