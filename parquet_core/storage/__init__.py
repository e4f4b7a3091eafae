"""Access to data: list tables, read byte ranges, count requests, write small files.

Supported addresses:

- a path or `file:` URI: local files;
- `s3://`, `s3a://`, `s3n://`, `gs://`, `gcs://`, `az://`, `azure://`, `abfs://`, `abfss://`, `wasb://`, `wasbs://`,
  `http://`, `https://`: obstore; the schemes of one store are synonyms, and `address` returns the canonical URI;
- any other scheme (`memory://`, `hdfs://`, ...): fsspec with the installed file systems.

Credentials come from the environment, in the variables that obstore and fsspec read (`AWS_ACCESS_KEY_ID`,
`AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, ...). obstore does not read
`~/.aws`: the profile of `AWS_PROFILE` is read through boto3 if boto3 is installed. obstore and fsspec are imported when
a URI first needs them. The public names resolve on first use, so that code that only parses addresses does not import
numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use

if TYPE_CHECKING:
    from parquet_core.storage.file_changes import check_deletable as check_deletable
    from parquet_core.storage.file_changes import delete_files as delete_files
    from parquet_core.storage.file_changes import move_files as move_files
    from parquet_core.storage.file_changes import publish as publish
    from parquet_core.storage.file_changes import staged as staged
    from parquet_core.storage.files import JOURNAL as JOURNAL
    from parquet_core.storage.files import DataFile as DataFile
    from parquet_core.storage.files import Traffic as Traffic
    from parquet_core.storage.files import is_hidden as is_hidden
    from parquet_core.storage.files import name_of as name_of
    from parquet_core.storage.journal import STAGING as STAGING
    from parquet_core.storage.journal import Journal as Journal
    from parquet_core.storage.journal import read_journal as read_journal
    from parquet_core.storage.listing import files_below as files_below
    from parquet_core.storage.listing import list_data_files as list_data_files
    from parquet_core.storage.listing import list_table as list_table
    from parquet_core.storage.listing import look_up as look_up
    from parquet_core.storage.listing import summaries_below as summaries_below
    from parquet_core.storage.partition_discovery import ESCAPE as ESCAPE
    from parquet_core.storage.partition_discovery import PartitionListing as PartitionListing
    from parquet_core.storage.partition_discovery import unescape as unescape
    from parquet_core.storage.ranges import IN_FLIGHT as IN_FLIGHT
    from parquet_core.storage.ranges import Ranges as Ranges
    from parquet_core.storage.ranges import gather as gather
    from parquet_core.storage.ranges import hole_of as hole_of
    from parquet_core.storage.ranges import read_ahead as read_ahead
    from parquet_core.storage.ranges import read_each as read_each
    from parquet_core.storage.ranges import read_many as read_many
    from parquet_core.storage.ranges import read_range as read_range
    from parquet_core.storage.ranges import read_ranges as read_ranges
    from parquet_core.storage.ranges import read_whole as read_whole
    from parquet_core.storage.remote import check_size as check_size
    from parquet_core.storage.remote import find_file as find_file
    from parquet_core.storage.remote import list_directory as list_directory
    from parquet_core.storage.stores import address as address
    from parquet_core.storage.stores import is_remote as is_remote
    from parquet_core.storage.stores import local_path as local_path
    from parquet_core.storage.writing import holds as holds
    from parquet_core.storage.writing import needs_proof as needs_proof
    from parquet_core.storage.writing import prove_create as prove_create
    from parquet_core.storage.writing import prove_create_below as prove_create_below
    from parquet_core.storage.writing import put as put
    from parquet_core.storage.writing import put_if_absent as put_if_absent
    from parquet_core.storage.writing import put_unique as put_unique
else:
    __all__, __getattr__, __dir__ = on_first_use(__name__)
