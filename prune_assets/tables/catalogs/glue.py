"""AWS Glue tables, `glue:database.table`, with the credentials and the region of boto3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parquet_core.errors import StorageFailure, TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage.stores import is_wrong_setting
from prune_assets.extras import needing
from prune_assets.tables.catalogs.entry import CatalogEntry, entry_of, plain

# Timeout per attempt. boto3 makes five attempts and waits a minute for each by default.
_CONNECT_SECONDS = 3


def glue_table(name: str) -> CatalogEntry:
    """Return the entry of `database.table` in Glue, with the directories of its partitions."""
    with needing(f"glue:{name}: access to Glue"):
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    database, _, table = name.rpartition(".")
    if not database or "." in database:
        raise WrongUse(f"glue:{name}: write glue:database.table")
    try:
        # The default session of boto3 caches the first credentials from the environment.
        client = boto3.session.Session().client("glue", config=Config(connect_timeout=_CONNECT_SECONDS))
        description = client.get_table(DatabaseName=database, Name=table)["Table"]
        entry = _entry(f"glue:{name}", description)
        if not description.get("PartitionKeys") or entry.read_only is None:
            return entry
        pages = client.get_paginator("get_partitions").paginate(
            DatabaseName=database, TableName=table, ExcludeColumnSchema=True
        )
        parts = [part for page in pages for part in page["Partitions"]]
        return replace(entry, directories=frozenset(plain(part["StorageDescriptor"]["Location"]) for part in parts))
    except ClientError as error:
        if error.response["Error"]["Code"] == "EntityNotFoundException":
            raise TableNotFound(f"glue:{name}: Glue has no such table in this account and region") from None
        raise StorageFailure(f"glue:{name}: {error}") from error
    except (BotoCoreError, ValueError) as error:
        problem = f"glue:{name}: {str(error).rstrip('.')}"
        if is_wrong_setting(error):
            raise WrongUse(f"{problem}; set AWS_REGION and credentials, or AWS_PROFILE") from error
        raise StorageFailure(f"{problem}; check the network, AWS_REGION and the credentials") from error


def _entry(name: str, description: dict[str, Any]) -> CatalogEntry:
    from prune_assets.tables.opening import format_named

    storage, parameters = description.get("StorageDescriptor", {}), description.get("Parameters", {})
    if parameters.get("projection.enabled", "").lower() == "true":
        raise UnsupportedFeature(f"{name}: its partitions are projected, not registered; name the table by its path")
    entry = entry_of(
        name,
        provider=_provider(description),
        # Spark stores the location of its own tables here, and a placeholder in Location.
        location=storage.get("SerdeInfo", {}).get("Parameters", {}).get("path") or storage.get("Location"),
        properties=parameters,
        text_partitions=all(key["Type"] == "string" for key in description.get("PartitionKeys", [])),
    )
    plain_files = format_named(entry.format).spark_lists_files
    return replace(entry, read_only="Glue keeps a list of its partitions") if plain_files else entry


def _provider(description: dict[str, Any]) -> str:
    parameters = description.get("Parameters", {})
    if description.get("TableType") == "VIRTUAL_VIEW":
        return "view"
    named = parameters.get("spark.sql.sources.provider") or parameters.get("table_type")
    if named:
        return str(named).lower()
    library = str(description.get("StorageDescriptor", {}).get("SerdeInfo", {}).get("SerializationLibrary", ""))
    return "parquet" if "parquet" in library.lower() else library.rpartition(".")[2] or "unknown"
