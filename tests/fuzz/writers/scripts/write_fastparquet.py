"""Write recipes with any release of fastparquet: `write_fastparquet.py FOLDER`."""

import sys

import fastparquet
import numpy as np
import pandas as pd
from given_recipes import bytes_of, decimals_of, floats_of, write_each

NULLABLE = {
    sign.lower() + "int" + bits: ("UInt" if sign else "Int") + bits
    for sign in ("", "u")
    for bits in ("8", "16", "32", "64")
}


def series_of(column):
    kind, values = column["type"], column["values"]
    if kind in ("binary", "fixed"):
        return pd.Series(bytes_of(values), dtype=object)
    if kind == "decimal":
        return pd.Series(decimals_of(values), dtype=object)
    if kind in ("float", "double"):
        return pd.Series(floats_of(values), dtype="f4" if kind == "float" else "f8")
    if kind == "bool":
        return pd.Series(values, dtype="boolean")
    if kind in ("date", "timestamp"):
        unit = "D" if kind == "date" else column["unit"]
        stamps = np.array(["NaT" if value is None else value for value in values], dtype=f"datetime64[{unit}]")
        series = pd.Series(stamps.astype("datetime64[ns]"))
        return series.dt.tz_localize("UTC") if column.get("zone") else series
    if kind in NULLABLE:
        return pd.Series(values, dtype=NULLABLE[kind] if None in values else kind)
    if kind == "struct":
        return pd.Series(values, dtype="Int32")
    series = pd.Series(values, dtype=object)
    return series.astype("category") if column["dictionary"] else series


def write(recipe, path):
    options = recipe["options"]
    frame = pd.DataFrame({column["name"]: series_of(column) for column in recipe["columns"]})
    offsets = [sum(recipe["groups"][:i]) for i in range(len(recipe["groups"]))]
    if not offsets:
        raise ValueError("no rows")
    settings = {
        "row_group_offsets": offsets,
        "compression": None if options["compression"] == "none" else options["compression"].upper(),
        "times": "int96" if options["int96"] else "int64",
        "stats": options["statistics"],
        "write_index": False,
    }
    encoding = {}
    for column in recipe["columns"]:
        if column["type"] in ("string", "binary", "fixed", "decimal"):
            encoding[column["name"]] = (
                "bytes"
                if column["type"] in ("binary", "fixed")
                else ("decimal" if column["type"] == "decimal" else "utf8")
            )
    settings["object_encoding"] = encoding
    try:
        fastparquet.write(path, frame, **settings)
    except TypeError:
        del settings["stats"]
        fastparquet.write(path, frame, **settings)


if __name__ == "__main__":
    write_each(sys.argv[1], write)
