"""Write recipes with any release of DataFusion, as one file: `write_datafusion.py FOLDER`."""

import shutil
import sys
from pathlib import Path

import datafusion
from given_recipes import plain, write_each
from write_pyarrow import table_of


def write(recipe, path):
    folder = path + ".folder"
    shutil.rmtree(folder, ignore_errors=True)
    options = recipe["options"]
    codec = {"none": "uncompressed", "snappy": "snappy", "zstd": "zstd"}[options["compression"]]
    context = datafusion.SessionContext(configured(options, recipe["groups"]))
    given = recipe if options["at_once"] else plain(recipe)
    batches = table_of(given).combine_chunks().to_batches()
    frame = context.create_dataframe([batches])
    try:
        try:
            frame.write_parquet(folder, codec, 3 if codec == "zstd" else None)
        except TypeError:
            frame.write_parquet(folder)
        files = list(Path(folder).glob("*.parquet")) or [Path(folder)]
        if len(files) != 1:
            raise ValueError(f"{len(files)} files")
        files[0].rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def configured(options, groups):
    config = datafusion.SessionConfig() if hasattr(datafusion, "SessionConfig") else None
    if config is None:
        return None
    config = config.with_target_partitions(1)
    prefix = "datafusion.execution.parquet."
    config = config.set(prefix + "max_row_group_size", str(max(groups or [1])))
    if options["page_bytes"]:
        config = config.set(prefix + "data_pagesize_limit", str(options["page_bytes"]))
        config = config.set(prefix + "write_batch_size", "10")
    return config


if __name__ == "__main__":
    write_each(sys.argv[1], write)
