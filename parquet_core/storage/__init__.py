"""The only door to bytes: list the data files of a table, read ranges of files, count the requests, write small files.

- a path or `file:` URI: local files;
- `s3://`, `s3a://`, `s3n://`, `gs://`, `gcs://`, `az://`, `azure://`, `abfs://`, `abfss://`, `wasb://`, `wasbs://`,
  `http://`, `https://`: obstore; what are names of one store names one table, and `address` returns its one spelling;
- any other scheme (`memory://`, `hdfs://`, ...): fsspec and what it finds installed.

Credentials come from the environment, as obstore and fsspec read it (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`,
`GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, ...). Of `~/.aws` obstore reads nothing: the profile of
`AWS_PROFILE` is taken through boto3 where that is installed. Both are imported when such a URI is first used.
"""

from __future__ import annotations

from parquet_core.storage.files import JOURNAL, DataFile, Traffic, is_hidden, name_of
from parquet_core.storage.journal import STAGING, Journal, read_journal
from parquet_core.storage.listing import files_below, list_data_files, list_table, look_up, summaries_below
from parquet_core.storage.partition_discovery import ESCAPE, Listing, unescape
from parquet_core.storage.ranges import (
    IN_FLIGHT,
    Ranges,
    gather,
    hole_of,
    read_ahead,
    read_each,
    read_many,
    read_range,
    read_ranges,
    read_whole,
)
from parquet_core.storage.remote import check_size, find_file, list_directory
from parquet_core.storage.schemes import address, is_remote, local_path
from parquet_core.storage.writing import (
    holds,
    needs_proof,
    prove_create,
    prove_create_below,
    put,
    put_if_absent,
    put_unique,
)

__all__ = [
    "ESCAPE",
    "IN_FLIGHT",
    "JOURNAL",
    "STAGING",
    "DataFile",
    "Journal",
    "Listing",
    "Ranges",
    "Traffic",
    "address",
    "check_size",
    "files_below",
    "find_file",
    "gather",
    "holds",
    "hole_of",
    "is_hidden",
    "is_remote",
    "list_data_files",
    "list_directory",
    "list_table",
    "local_path",
    "look_up",
    "name_of",
    "needs_proof",
    "prove_create",
    "prove_create_below",
    "put",
    "put_if_absent",
    "put_unique",
    "read_ahead",
    "read_each",
    "read_journal",
    "read_many",
    "read_range",
    "read_ranges",
    "read_whole",
    "summaries_below",
    "unescape",
]
