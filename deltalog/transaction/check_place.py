"""Refuse to create a table among plain Parquet files: it would hide their rows, and vacuum would delete them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from deltalog.errors import RefusedCommit
from deltalog.maintenance.table_files import table_files
from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import Fix, Step
from parquet_core.printable import printable, redacted
from parquet_core.quantities import counted
from parquet_core.storage import Traffic, read_range

if TYPE_CHECKING:
    from parquet_core.storage import DataFile

# Uncommitted files of this package's writers: a directory of files written by Spark, or one file.
_OURS = re.compile(r"(?:.*/)?write-[0-9a-f]{32}(?:/|\.parquet$)")
_SUFFIXES = (".parquet", ".parq")
_MAGICS = (b"PAR1", b"PARE")


def check_place(location: str) -> None:
    """Raise RefusedCommit if a location without a Delta log holds Parquet files.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> place = tempfile.mkdtemp()
    >>> check_place(place)
    >>> pq.write_table(pa.table({"id": [1]}), f"{place}/old.parquet")
    >>> try:
    ...     check_place(place)
    ... except RefusedCommit as error:
    ...     print(str(error).removeprefix(place)[:50])
    : holds 1 Parquet file that no Delta log reference

    Files of this package's own Delta writes are ignored, whether the writes were interrupted or are still running.
    """
    files: dict[str, DataFile] = {}
    with suppress(UnsupportedFeature):  # locations that cannot be listed, such as a web server
        files = table_files(location)
    plain = [path for path, file in sorted(files.items()) if not _OURS.match(path) and _is_parquet(file)]
    if plain:
        shown = printable(redacted(location))
        raise RefusedCommit(
            f"{shown}: holds {counted(len(plain), 'Parquet file')} that no Delta log references (such as "
            f"{printable(plain[0])}); a new Delta table here would hide their rows, and vacuum would delete them",
            Fix(
                "choose another path and copy the rows (",
                Step.WRITE_DELTA,
                "), or convert them in place with Spark's CONVERT TO DELTA",
                shown,
            ),
        )


def _is_parquet(file: DataFile) -> bool:
    """True if a file is Parquet by its suffix or first bytes.

    The first bytes decide if the name has no suffix, as in files written by Hive.
    """
    name = file.path.rpartition("/")[2]
    if "." in name or file.size < 4:
        return name.endswith(_SUFFIXES) and file.size > 0
    return read_range(file, 0, 4, purpose="data", traffic=Traffic()) in _MAGICS
