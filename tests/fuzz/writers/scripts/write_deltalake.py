"""Write recipes with any release of delta-rs, as the one file of a table: `write_deltalake.py FOLDER`."""

import inspect
import shutil
import sys
from pathlib import Path

import deltalake
from given_recipes import plain, write_each
from write_pyarrow import table_of

PARAMETERS = inspect.signature(deltalake.write_deltalake).parameters


def write(recipe, path):
    folder = path + ".table"
    shutil.rmtree(folder, ignore_errors=True)
    settings = {"mode": "overwrite"}
    if "engine" in PARAMETERS:
        settings["engine"] = "rust"
    if "writer_properties" in PARAMETERS and hasattr(deltalake, "WriterProperties"):
        options = recipe["options"]
        codec = {"none": "UNCOMPRESSED", "snappy": "SNAPPY", "zstd": "ZSTD"}[options["compression"]]
        limits = {"max_row_group_size": max(recipe["groups"] or [1])}
        if options["page_bytes"]:
            limits["data_page_size_limit"] = options["page_bytes"]
            limits["write_batch_size"] = 10
        settings["writer_properties"] = deltalake.WriterProperties(compression=codec, **limits)
    try:
        deltalake.write_deltalake(folder, table_of(plain(recipe)), **settings)
        files = list(Path(folder).glob("*.parquet"))
        if len(files) != 1:
            raise ValueError(f"{len(files)} files")
        files[0].rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    write_each(sys.argv[1], write)
