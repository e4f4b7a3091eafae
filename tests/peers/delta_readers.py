"""Other readers of Delta tables, which return the rows that a predicate selects, and the files.

delta-rs (also through pyarrow datasets), polars and polars-deltalake (built on delta-kernel-rs) are installed next to
the project. DuckDB's extension and delta-spark need other versions of duckdb and pyspark, so they run in environments
of their own, which these variables set:

- PRUNE_DUCKDB_PYTHON: a Python with `duckdb==1.4.4`, `duckdb-ext-delta` and `pyarrow`;
- PRUNE_DELTA_SPARK: a Python with `pyspark==4.1.0`, and PRUNE_DELTA_SPARK_JARS: a directory with the jars of
  io.delta:delta-spark_4.1_2.13:4.1.0 and its dependencies.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.peers.plain_rows import plain_rows

HERE = Path(__file__).parent
DUCKDB, SPARK, JARS = "PRUNE_DUCKDB_PYTHON", "PRUNE_DELTA_SPARK", "PRUNE_DELTA_SPARK_JARS"
READERS = ("delta-rs", "polars-deltalake", "duckdb", "delta-spark")
# Readers that can read older versions.
READERS_OF_VERSIONS = ("delta-rs", "polars-deltalake", "polars", "pyarrow", "delta-spark")


def missing(reader):
    """Return why a reader is unavailable here; "" if it is available."""
    match reader:
        case "delta-rs" | "pyarrow":
            return "" if find_spec("deltalake") else "deltalake is not installed"
        case "polars":
            return "" if find_spec("polars") and find_spec("deltalake") else "polars and deltalake are not installed"
        case "polars-deltalake":
            return "" if find_spec("polars_deltalake") else "polars-deltalake is not installed"
        case "duckdb":
            return "" if os.environ.get(DUCKDB) else f"{DUCKDB} names no Python with duckdb 1.4.4 and duckdb-ext-delta"
    if os.environ.get(SPARK) and os.environ.get(JARS):
        return ""
    return f"{SPARK} and {JARS} name no pyspark with the jars of delta-spark: they come from Maven"


def ask(reader, questions):
    """Return the answers of a reader to questions {table, where, version}.

    An answer is {files, rows}, where files is None if the reader does not report them, or {error}. Without `where` all
    rows are selected; without `version` the latest version is read.
    """
    here = {
        "delta-rs": _by_delta_rs,
        "polars": _by_polars,
        "polars-deltalake": _by_polars_deltalake,
        "pyarrow": _by_pyarrow,
    }
    match reader:
        case name if name in here:
            return [_guarded(here[name], question) for question in questions]
        case "duckdb":
            command = [os.environ[DUCKDB], str(HERE / "delta_in_duckdb.py")]
            return json.loads(_run(command, questions))
    with tempfile.TemporaryDirectory() as scratch:
        answers = Path(scratch) / "answers"
        _run([os.environ[SPARK], str(HERE / "delta_in_spark.py"), os.environ[JARS], str(answers)], questions)
        return json.loads(answers.read_text())


def _run(command, questions):
    environment = os.environ | {"PYTHONPATH": str(HERE), "TZ": "UTC"}
    done = subprocess.run(
        command, input=json.dumps(questions), capture_output=True, text=True, check=False, env=environment, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _guarded(read, question):
    try:
        return read(question["table"], question.get("where"), question.get("version"))
    except BaseException as error:  # noqa: BLE001 - whatever it says against the table is the answer, panics included
        return {"error": " ".join(str(error).split())[:200]}


def _by_delta_rs(table, where, version):
    import deltalake
    import pyarrow as pa

    opened = deltalake.DeltaTable(table, version=version)
    files = sorted(opened.file_uris())

    def rows(*_):
        query = deltalake.QueryBuilder().register("t", opened)
        found = query.execute(f"SELECT * FROM t WHERE {where or 'true'}")
        return {"rows": plain_rows(pa.table(found.read_all()).to_pylist())}

    return {"files": files} | _guarded(rows, {"table": table})


def _by_polars(table, where, version):
    import polars as pl

    return _rows_of_frame(pl.scan_delta(table, version=version), where)


def _by_polars_deltalake(table, where, version):
    import polars_deltalake

    return _rows_of_frame(polars_deltalake.scan_delta(table, version=version), where)


def _rows_of_frame(frame, where):
    import polars as pl

    if where:
        frame = frame.filter(pl.sql_expr(where))
    return {"rows": plain_rows(frame.collect().to_arrow().to_pylist()), "files": None}


def _by_pyarrow(table, where, version):
    import deltalake
    import pyarrow.compute as pc

    rows = deltalake.DeltaTable(table, version=version).to_pyarrow_dataset()
    column, _, rest = (where or "").partition(" ")
    chosen = {"": None, "IS NULL": pc.field(column or "x").is_null()}.get(rest)
    if chosen is None and where:
        sign, number = rest.split()
        assert sign == ">"
        chosen = pc.field(column) > int(number)
    return {"rows": plain_rows(rows.to_table(filter=chosen).to_pylist()), "files": None}
