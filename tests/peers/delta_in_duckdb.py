"""Reads Delta tables with DuckDB's extension, in an environment that has duckdb and duckdb-ext-delta of one version.

Takes a list of questions, {table, where}, as JSON from standard input and answers each with {rows, files} or {error}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
from plain_rows import plain_rows


def connect():
    (extension,) = Path(sys.prefix).glob("lib/python3*/site-packages/duckdb_ext/extensions/*/*/delta.duckdb_extension")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'; SET timezone='UTC'")
    return connection


def answer(connection, question):
    table, files = question["table"].replace("'", "''"), None
    try:
        files = sorted(
            row[0] for row in connection.execute(f"SELECT data_file FROM delta_list_files('{table}')").fetchall()
        )
        cursor = connection.execute(f"SELECT * FROM delta_scan('{table}') WHERE {question.get('where') or 'true'}")
        rows = plain_rows(cursor.fetch_arrow_table().to_pylist())
    except Exception as error:  # noqa: BLE001 - whatever it says against the table is the answer
        return {"files": files, "error": " ".join(str(error).split())[:200]}
    return {"rows": rows, "files": files}


if __name__ == "__main__":
    opened = connect()
    json.dump([answer(opened, question) for question in json.load(sys.stdin)], sys.stdout)
