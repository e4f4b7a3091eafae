"""Entries of tables in catalogs, and checks of their files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from parquet_core.errors import UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_core.storage import DataFile

# A Delta table with one of these properties may have commits that only the catalog has, not the log.
_CATALOG_COMMITS = ("delta.feature.catalogManaged", "delta.feature.catalogOwned-preview")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """Entry of a table in a catalog.

    `format`: name of the table's format.
    `location`: directory of the table, or for Iceberg its metadata file.
    `text_partitions`: True if all partition columns are strings, whatever their values look like.
    `registers_partitions`: True if the catalog keeps a list of partitions.
    `read_only`: why the table cannot be written by this name. None if it can.
    `instead`: the next step if the table cannot be written by this name.
    `in_session`: True if a catalog of the Spark session has the table, so that Spark can read it by this name.
    `files`: files that the catalog's engine reads. None if unknown.
    `directories`: partition directories in the catalog. None if unknown.
    """

    name: str
    location: str
    format: str = "parquet"
    text_partitions: bool = False
    registers_partitions: bool = False
    read_only: str | None = None
    instead: str = "use its engine"
    files: frozenset[str] | None = None
    directories: frozenset[str] | None = None
    in_session: bool = False

    def check_files(self, planned: Iterable[DataFile]) -> None:
        """Refuse files of partitions that the catalog does not have, or has at another location."""
        paths = {plain(file.path) for file in planned}
        if self.files is not None:
            odd = paths ^ self.files
        elif self.directories is not None:
            odd = {path for path in paths if path.rpartition("/")[0] not in self.directories}
            odd |= {directory for directory in self.directories if not directory.startswith(f"{plain(self.location)}/")}
        else:
            return
        if odd:
            raise UnsupportedFeature(
                f"{self.name}: {min(odd)}: the catalog's partitions differ from the directories below "
                f"{self.location}; register them (MSCK REPAIR TABLE, REFRESH TABLE), or name the table by its path"
            )


def entry_of(
    name: str,
    *,
    provider: str,
    location: str | None,
    properties: Iterable[str] = (),
    text_partitions: bool = False,
    read_only: str | None = None,
) -> CatalogEntry:
    """Return the entry of a Parquet or Delta table of Spark. Raises UnsupportedFeature for another provider."""
    from prune_assets.tables.opening import FORMATS

    format_name = provider.lower()
    table_format = next((each for each in FORMATS if each.name == format_name), None)
    if table_format is not None and table_format.refused_provider:
        raise UnsupportedFeature(f"{name}: {table_format.refused_provider}")
    if table_format is None:
        raise UnsupportedFeature(
            f"{name}: the catalog lists it as {format_name}, which is not supported; use Spark's own reader and writer"
        )
    managed = next((feature for feature in _CATALOG_COMMITS if feature in set(properties)), None)
    if managed is not None:
        raise UnsupportedFeature(
            f"{name}: its commits are managed by the catalog ({managed.removeprefix('delta.feature.')}), so its files "
            "alone do not show the latest version; read it through the catalog"
        )
    if not location:
        raise UnsupportedFeature(f"{name}: the catalog gives no location; name the table by its path")
    return CatalogEntry(
        name,
        location.rstrip("/"),
        table_format.name,
        text_partitions=text_partitions and table_format.spark_lists_files,
        read_only=read_only,
    )


def plain(location: str) -> str:
    """Normalize a path or address, so that all spellings of a location become equal.

    >>> plain("file:///lake/t/p=1/"), plain("s3a://lake/t")
    ('/lake/t/p=1', 's3://lake/t')
    """
    if location.startswith("file:"):
        return unquote(urlsplit(location).path).rstrip("/")
    return location.replace("s3a://", "s3://", 1).rstrip("/")
