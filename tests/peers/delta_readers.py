"""Other readers of Delta tables, each asked for the rows that a predicate selects, and for the files.

delta-rs and polars-deltalake (which is built on delta-kernel-rs) are installed beside the project. DuckDB's extension
and delta-spark need other versions of duckdb and pyspark, so that they live in environments of their own, which
variables name:

- PRUNE_DUCKDB_PYTHON: a Python with `duckdb==1.4.4`, `duckdb-ext-delta` and `pyarrow`;
- PRUNE_DELTA_SPARK: a Python with `pyspark==4.1.0`, and PRUNE_DELTA_SPARK_JARS: a directory with the jars of
  io.delta:delta-spark_4.1_2.13:4.1.0 and what it depends on.
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


def missing(reader):
    """Why a reader cannot be asked here; empty when it can."""
    match reader:
        case "delta-rs":
            return "" if find_spec("deltalake") else "deltalake is not installed"
        case "polars-deltalake":
            return "" if find_spec("polars_deltalake") else "polars-deltalake is not installed"
        case "duckdb":
            return "" if os.environ.get(DUCKDB) else f"{DUCKDB} names no Python with duckdb 1.4.4 and duckdb-ext-delta"
    if os.environ.get(SPARK) and os.environ.get(JARS):
        return ""
    return f"{SPARK} and {JARS} name no pyspark with the jars of delta-spark: they come from Maven"


def ask(reader, questions):
    """The answers to questions {table, where}: {files, rows}, None where it tells none, and {error} without rows."""
    match reader:
        case "delta-rs":
            return [_guarded(_by_delta_rs, question) for question in questions]
        case "polars-deltalake":
            return [_guarded(_by_polars, question) for question in questions]
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
        return read(question["table"], question.get("where"))
    except BaseException as error:  # noqa: BLE001 - whatever it says against the table is the answer, panics included
        return {"error": " ".join(str(error).split())[:200]}


def _by_delta_rs(table, where):
    import deltalake
    import pyarrow as pa

    opened = deltalake.DeltaTable(table)
    files = sorted(opened.file_uris())

    def rows():
        query = deltalake.QueryBuilder().register("t", opened)
        return pa.table(query.execute(f"SELECT * FROM t WHERE {where or 'true'}").read_all()).to_pylist()

    return {"files": files} | _guarded(lambda *_: {"rows": plain_rows(rows())}, {"table": table})


def _by_polars(table, where):
    import polars as pl
    import polars_deltalake

    frame = polars_deltalake.scan_delta(table)
    if where:
        frame = frame.filter(pl.sql_expr(where))
    return {"rows": plain_rows(frame.collect().to_arrow().to_pylist()), "files": None}
