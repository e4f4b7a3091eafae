"""Interface of a table format.

An entry of `FORMATS` recognizes and opens tables, and describes what readers expect.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.extras import needing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from parquet_core.dataset.metadata_cache import MetadataCache
    from parquet_core.fix import Fix, Setting
    from parquet_core.layout.entry import Check
    from prune_assets.report.skip_report import TableSnapshot
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.tables.catalogs.entry import CatalogEntry
    from prune_assets.tables.examination import Examination
    from prune_assets.tables.table import Table
    from prune_assets.tables.writing import Writing

# One path or address, or several.
Location: TypeAlias = str | os.PathLike[str] | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """Options to open a table. Fields that are not listed here are documented in `plan`.

    `cache`: the metadata cache.
    `whole_below`: as in `read_for_schema`.
    `entry`: the table's entry in a catalog.
    """

    semantics: SparkSemantics
    version: int | None = None
    timestamp: dt.datetime | int | str | None = None
    allow: Sequence[str] = ()
    cache: MetadataCache | None = None
    whole_below: int | None = None
    entry: CatalogEntry | None = None


def moment_of(timestamp: dt.datetime | int | str) -> dt.datetime | int:
    """Return the time of a version; strings are parsed as ISO 8601. Raises WrongUse for other strings."""
    if not isinstance(timestamp, str):
        return timestamp
    try:
        return dt.datetime.fromisoformat(timestamp)
    except ValueError:
        raise WrongUse(f"timestamp={timestamp!r}: not a valid time; write it as 2024-01-31T12:00:00+00:00") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A table format.

    `name`: identifies the format in catalogs and in `write`.
    `is_at`: True if a location has a table of the format, or may have.
    `open`: opens a table; None if `is_at` is false.
    `check_columns`: refuses a table whose columns in its catalog differ from those in its files.
    `is_unfinished`: True if the table contains the journal of a write, which Spark ignores.
    `save`: stores the log or manifests, as far as read, in the cache directory.
    `describe`: returns the planned snapshot, from the table, its index, flags of the files to read, `pro_rata` and
    `log_bytes`; None for tables without versions.
    `is_in_listing`: like `is_at`; also takes the names of the location's directories, and whether it has Parquet files.
    `found_in_catalog`: lists the tables of a catalog that is named after the format.
    `entry_in_session`: returns the entry of a table that a catalog of the session lists with this format as provider.
    `refused_provider`: why a table that a catalog lists with this provider is not read from its location; "" if it is.
    `keeps_deletes`: True if rows can be deleted without a rewrite of their files.
    `storage_kind`: Dagster's name of the format.
    `directory_of`: returns the directory of a table whose location may be its metadata file.
    `look_ahead`: context that starts the first request of `open` early, while other formats check the location.
    `fingerprint`: returns a value that changes with the table; an integer is the table's version.
    `versions_grow`: True if each change increases the version by one.
    `history`: returns number, time (milliseconds, UTC) and commit information of the newest versions, at most the given
    number; None for tables without versions.
    `partition_files`: yields, for each file, the values of partition columns as strings, and a value that changes with
    the file.
    `spark_lists_files`: True if Spark lists the files itself when it opens a table, so that it may see more than the
    planned files. False if Spark is given the files to read.
    `read_alone_by`: engine that reads tables of the format without a plan. None if only Spark does.
    `log_checks`: returns the checks of the log or manifests.
    `examination`: returns the functions of commands and checks.
    `writing`: returns the functions that write tables; None for a read-only format. Plans do not import these
    functions.
    `by_catalog_alone`: True if tables are written only by their name in a catalog of the session, which also creates
    them.
    `read_only`: next step for the user, for a format that is not written.
    `settings`: texts for remedies, by the writer setting they replace; "" if the format lacks the setting.
    `fixes`: remedies that differ for the format, by the code of a finding.
    `not_inspected`: options of `prune inspect` that do not apply to the format, with the reason.
    """

    name: str
    is_at: Callable[[Location], bool]
    open: Callable[[Location, OpenOptions], Table | None]
    fingerprint: Callable[[str], int | str]
    partition_files: Callable[[str, Sequence[str]], Iterator[tuple[tuple[str | None, ...], str]]]
    examination: Callable[[], Examination]
    check_columns: Callable[[Any, SparkSession], None] = lambda *_: None
    is_unfinished: Callable[[Any], bool] = lambda _: False
    save: Callable[[Any], None] = lambda _: None
    describe: Callable[..., TableSnapshot | None] = lambda *_, **__: None
    is_in_listing: Callable[[str, AbstractSet[str], bool], bool] | None = None
    found_in_catalog: Callable[[str], Sequence[tuple[str, ...]]] | None = None
    entry_in_session: Callable[[str, SparkSession], CatalogEntry] | None = None
    refused_provider: str = ""
    keeps_deletes: bool = False
    storage_kind: str = ""
    history: Callable[[str, int], Sequence[tuple[int, int | None, Mapping[str, Any]]]] | None = None
    versions_grow: bool = False
    look_ahead: Callable[[Location], AbstractContextManager[None]] = lambda _: nullcontext()
    directory_of: Callable[[str], str] = str
    spark_lists_files: bool = False
    read_alone_by: str | None = None
    log_checks: Callable[[], tuple[Check[Any], ...]] = tuple
    writing: Callable[[], Writing] | None = None
    read_only: str = ""
    by_catalog_alone: bool = False
    settings: Mapping[Setting, str] = field(default_factory=dict)
    fixes: Mapping[str, Fix] = field(default_factory=dict)
    not_inspected: Mapping[str, str] = field(default_factory=dict)

    def writing_at(self, location: str, *, by_path: bool = False) -> Writing:
        """Return the functions that write a table.

        Raises UnsupportedFeature for a read-only table, and MissingPackage if a package of the format is missing.

        `by_path`: True if a path names the table, not a catalog.
        """
        if self.writing is None or (by_path and self.by_catalog_alone):
            why = self.read_only or f"tables of {self.name} are read only; write to another path"
            raise UnsupportedFeature(f"{location}: {why}")
        with needing(f"{location}: format {self.name}", otherwise="choose another format"):
            return self.writing()
