"""Write recipes with any release of pyarrow: `write_pyarrow.py FOLDER`; it runs on Python 3.6 and newer.

Each `N.json` becomes `N.parquet`, or `N.txt` with the reason why this release cannot write it.
"""

import sys

import pyarrow as pa
import pyarrow.parquet as pq
from given_recipes import bytes_of, decimals_of, floats_of, parts_of, write_each

PLAIN = {
    "bool": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
}


def arrow_type(column):
    name = column["type"]
    if name in PLAIN:
        return PLAIN[name]
    if name == "decimal":
        return pa.decimal128(column["precision"], column["scale"])
    if name == "timestamp":
        return pa.timestamp(column["unit"], column["zone"])
    if name == "fixed":
        return pa.binary(column["width"])
    return pa.struct([pa.field("a", pa.int32())]) if name == "struct" else getattr(pa, name)()


def python_values(column):
    name, values = column["type"], column["values"]
    if name in ("binary", "fixed"):
        return bytes_of(values)
    if name == "struct":
        return [None if value is None else {"a": value} for value in values]
    if name in ("float", "double"):
        return floats_of(values)
    return decimals_of(values) if name == "decimal" else values


def chunked(column, lengths):
    """Return the column in chunks; pyarrow gives each its own dictionary, so a shared one is cut."""
    kind = arrow_type(column)
    values = pa.array(python_values(column), pa.int64() if column["type"] == "timestamp" else storage_of(kind))
    values = values.cast(kind) if column["type"] in ("timestamp", "date") else values
    parts = parts_of(values, lengths)
    if column["dictionary"] is None:
        return pa.chunked_array(parts, kind)
    if column["dictionary"] == "shared":
        parts = parts_of(values.dictionary_encode(), lengths)
    else:
        parts = [part.dictionary_encode() for part in parts]
    return pa.chunked_array(parts, parts[0].type)


def storage_of(kind):
    return pa.int32() if pa.types.is_date32(kind) else kind


def table_of(recipe):
    names = [column["name"] for column in recipe["columns"]]
    if not recipe["chunks"] and pa.__version__.startswith("0."):
        raise ValueError("this release ends the process without chunks")
    return pa.Table.from_arrays([chunked(column, recipe["chunks"]) for column in recipe["columns"]], names=names)


def settings(recipe):
    """Return the recipe's options as keywords of ParquetWriter, without keywords that this release lacks."""
    options = recipe["options"]
    release = tuple(int(part) for part in pa.__version__.split(".")[:2])
    with_dictionary = [column["name"] for column in recipe["columns"] if column["dictionary"] or options["at_once"]]
    asked = {
        "version": "2.0" if release < (6, 0) else "2.6",
        "compression": options["compression"],
        "use_dictionary": with_dictionary,
        "use_deprecated_int96_timestamps": options["int96"],
    }
    if release >= (0, 15):
        asked["write_statistics"] = options["statistics"]
    if release >= (0, 16):
        asked["data_page_size"] = options["page_bytes"]
    if release >= (
        3,
        0,
    ):  # before, compressed pages of the second version claim to be uncompressed: Spark reads garbage
        asked["data_page_version"] = options["data_page_version"]
    if release >= (10, 0) and options["page_bytes"]:
        asked["write_batch_size"] = 10
    if release >= (13, 0):
        asked["write_page_index"] = options["page_index"]
    if release >= (24, 0) and options["bloom"]:
        asked["bloom_filter_options"] = {"r": {"ndv": 100}}
    if release >= (19, 0):
        asked["store_decimal_as_integer"] = options["at_once"]
    return asked


def rows_of(table, start, length):
    if hasattr(table, "slice"):
        return table.slice(start, length)
    columns = [getattr(column, "data", column).slice(start, length) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.schema.names)


def write(recipe, path):
    table, start = table_of(recipe), 0
    with pq.ParquetWriter(path, table.schema, **settings(recipe)) as writer:
        for length in recipe["groups"]:
            part = rows_of(table, start, length)
            writer.write_table(part, row_group_size=max(length, 1))
            start += length


if __name__ == "__main__":
    write_each(sys.argv[1], write)
