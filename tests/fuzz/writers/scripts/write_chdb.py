"""Write recipes with the ClickHouse of any release of chdb: `write_chdb.py FOLDER`."""

import json
import sys
from pathlib import Path

import chdb
from given_recipes import write_each

TYPES = {
    "bool": "Bool",
    "float": "Float32",
    "double": "Float64",
    "string": "String",
    "binary": "String",
    "fixed": "FixedString",
    "date": "Date32",
}


def sql_type(column):
    kind = column["type"]
    if kind == "decimal":
        return "Nullable(Decimal({precision},{scale}))".format(**column)
    if kind == "timestamp":
        digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[column["unit"]]
        return f"Nullable(DateTime64({digits}, 'UTC'))"
    if kind == "fixed":
        return "Nullable(FixedString({}))".format(column["width"])
    if kind == "struct":
        return "Tuple(a Nullable(Int32))"
    name = TYPES.get(kind) or kind.replace("uint", "UInt").replace("int", "Int")
    if column["dictionary"] and kind == "string":
        return "LowCardinality(Nullable(String))"
    return f"Nullable({name})"


def cell(value, column):
    kind = column["type"]
    if kind == "struct":
        return {"a": value}
    if value is None:
        return None
    return value


def stored(column):
    """Return the type of the column in JSON: bytes as hexadecimal digits, times and numbers with their digits."""
    kind = column["type"]
    if kind in ("binary", "fixed", "decimal", "float", "double"):
        return "Nullable(String)"
    if kind == "timestamp":
        return "Nullable(Int64)"
    if kind == "date":
        return "Nullable(Int32)"
    return sql_type(column)


def selected(column):
    kind, name = column["type"], column["name"]
    if kind in ("binary", "fixed"):
        text = f"unhex({name})"
    elif kind == "timestamp":
        digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[column["unit"]]
        text = f"fromUnixTimestamp64Nano({name} * {10 ** (9 - digits)}, 'UTC')"
    elif kind == "date":
        text = f"addDays(toDate32('1970-01-01'), {name})"
    else:
        text = name
    return f"CAST({text} AS {sql_type(column)}) AS {name}"


def write(recipe, path):
    rows, columns = path + ".rows", recipe["columns"]
    with Path(rows).open("w", encoding="utf-8") as file:
        for values in zip(*(column["values"] for column in columns)):
            record = {column["name"]: cell(value, column) for column, value in zip(columns, values)}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    schema = ", ".join("{} {}".format(column["name"], stored(column)) for column in columns)
    given = "file('{}', 'JSONEachRow', '{}')".format(rows, schema.replace("'", "\\'"))
    options = recipe["options"]
    settings = ["output_format_parquet_compression_method='{}'".format(options["compression"])]
    settings.append("output_format_parquet_row_group_size={}".format(max(recipe["groups"] or [1])))
    has_bytes = any(column["type"] == "binary" for column in columns)
    settings.append(f"output_format_parquet_string_as_string={int(not has_bytes)}")
    if recipe["options"]["at_once"]:
        settings.append("output_format_parquet_use_custom_encoder=1")
    if options["page_bytes"]:
        settings.append("output_format_parquet_data_page_size={}".format(options["page_bytes"]))
        settings.append("output_format_parquet_batch_size=10")
    query = "INSERT INTO FUNCTION file('{}', 'Parquet') SELECT {} FROM {} ORDER BY columns_r SETTINGS {}"
    names = ", ".join(selected(column) for column in columns)
    query = query.replace("columns_r", "r")
    made = Path(path)
    for given_settings in (settings, settings[:2]):
        done = chdb.query(query.format(path, names, given, ", ".join(given_settings)), "CSV")
        problem = done.error_message() if hasattr(done, "error_message") else ""
        if made.exists() and not problem:
            Path(rows).unlink()
            return
        if made.exists():
            made.unlink()
    raise ValueError(problem or "no file")


if __name__ == "__main__":
    write_each(sys.argv[1], write)
