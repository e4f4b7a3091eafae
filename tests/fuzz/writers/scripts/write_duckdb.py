"""Write recipes with any release of DuckDB: `write_duckdb.py FOLDER`."""

import sys

import duckdb
from given_recipes import write_each

TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "fixed": "BLOB",
    "date": "DATE",
    "struct": "INTEGER",
}
STAMPS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
RELEASE = tuple(int(part) for part in duckdb.__version__.split(".")[:2])
MICROSECONDS = {"s": 1000000, "ms": 1000, "us": 1, "ns": 0.001}


def sql_type(column):
    if column["type"] == "decimal":
        return "DECIMAL({precision},{scale})".format(**column)
    if column["type"] == "timestamp":
        return "TIMESTAMP WITH TIME ZONE" if column["zone"] and RELEASE >= (0, 3) else STAMPS[column["unit"]]
    return TYPES[column["type"]]


def literal(value, column):
    kind = column["type"]
    if value is None:
        return "NULL"
    if kind in ("binary", "fixed"):
        return "'" + "".join("\\x" + value[i : i + 2].upper() for i in range(0, len(value), 2)) + "'::BLOB"
    if kind == "string":
        return "'" + value.replace("'", "''") + "'"
    if kind == "date":
        return f"(DATE '1970-01-01' + ({value}))"
    if kind == "timestamp":
        count = value // 1000 if column["unit"] == "ns" else value * int(MICROSECONDS[column["unit"]])
        return f"(TIMESTAMP '1970-01-01' + INTERVAL ({count}) MICROSECONDS)"
    return f"'{value}'" if kind in ("decimal", "float", "double") else str(value)


def selected(column):
    if column["type"] == "struct":
        return "{{'a': {0}}} AS {0}".format(column["name"])
    return column["name"]


def write(recipe, path):
    connection, columns = duckdb.connect(), recipe["columns"]
    connection.execute("CREATE TABLE t ({})".format(", ".join(c["name"] + " " + sql_type(c) for c in columns)))
    rows = list(zip(*([literal(value, column) for value in column["values"]] for column in columns)))
    for start in range(0, len(rows), 500):
        texts = ", ".join("(" + ", ".join(row) + ")" for row in rows[start : start + 500])
        connection.execute("INSERT INTO t VALUES " + texts)
    options = recipe["options"]
    codec = {"none": "UNCOMPRESSED", "snappy": "SNAPPY", "zstd": "ZSTD"}[options["compression"]]
    asked = ["FORMAT PARQUET", f"CODEC '{codec}'"]
    size = max(recipe["groups"] or [1])
    later = [f"ROW_GROUP_SIZE {size}"]
    text = "COPY (SELECT {} FROM t ORDER BY r) TO '{}' ({})"
    names = ", ".join(selected(column) for column in columns)
    try:
        connection.execute(text.format(names, path, ", ".join(asked + later)))
    except (RuntimeError, getattr(duckdb, "Error", RuntimeError)):  # older ones have no such option
        connection.execute(text.format(names, path, ", ".join(asked)))


if __name__ == "__main__":
    write_each(sys.argv[1], write)
