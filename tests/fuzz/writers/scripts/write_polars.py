"""Write recipes with any release of polars: `write_polars.py FOLDER`."""

import sys

import polars as pl
from given_recipes import bytes_of, decimals_of, floats_of, write_each

NAMES = {"bool": "Boolean", "float": "Float32", "double": "Float64", "string": "Utf8", "binary": "Binary"}
INTEGERS = {
    sign.lower() + "int" + bits: ("UInt" if sign else "Int") + bits
    for sign in ("", "u")
    for bits in ("8", "16", "32", "64")
}


def series_of(column):
    name, kind, values = column["name"], column["type"], column["values"]
    if kind == "decimal":
        series = pl.Series(name, decimals_of(values), dtype=pl.Decimal(column["precision"], column["scale"]))
    elif kind == "struct":
        inner = pl.DataFrame({"a": pl.Series("a", values, dtype=pl.Int32)})
        series = inner.to_struct(name)
    elif kind in ("binary", "fixed"):
        series = pl.Series(name, bytes_of(values), dtype=pl.Binary)
    elif kind == "date":
        series = pl.Series(name, values, dtype=pl.Int32).cast(pl.Date)
    elif kind == "timestamp":
        series = timestamps(column)
    elif kind in ("float", "double"):
        series = pl.Series(name, floats_of(values), dtype=getattr(pl, NAMES[kind]))
    else:
        series = pl.Series(name, values, dtype=getattr(pl, NAMES.get(kind) or INTEGERS[kind]))
    if column["dictionary"] and kind == "string":
        return series.cast(pl.Categorical)
    return series


def timestamps(column):
    unit = {"s": "ms"}.get(column["unit"], column["unit"])
    factor = 1000 if column["unit"] == "s" else 1
    values = [None if value is None else value * factor for value in column["values"]]
    return pl.Series(column["name"], values, dtype=pl.Int64).cast(pl.Datetime(unit))


def write(recipe, path):
    options = recipe["options"]
    frame = pl.DataFrame([series_of(column) for column in recipe["columns"]])
    settings = {
        "compression": {"none": "uncompressed"}.get(options["compression"], options["compression"]),
        "statistics": options["statistics"],
        "row_group_size": max(recipe["groups"][0], 1) if recipe["groups"] else None,
    }
    if not options["at_once"] and len(recipe["chunks"]) > 1:
        with pl.StringCache():
            parts = [pl.DataFrame([series_of(column) for column in part]) for part in columns_of_chunks(recipe)]
            frame = pl.concat(parts, rechunk=False)
    if not options["page_bytes"]:
        frame.write_parquet(path, **settings)
        return
    try:
        frame.write_parquet(path, data_page_size=options["page_bytes"], **settings)
    except TypeError:  # older ones have no such option
        frame.write_parquet(path, **settings)


def columns_of_chunks(recipe):
    start = 0
    for length in recipe["chunks"]:
        yield [dict(column, values=column["values"][start : start + length]) for column in recipe["columns"]]
        start += length


if __name__ == "__main__":
    write_each(sys.argv[1], write)
