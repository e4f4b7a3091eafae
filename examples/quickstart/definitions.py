"""A folder of Parquet files, checks of its layout, and a copy of it that has the layout."""

import os
from pathlib import Path

import dagster as dg

from prune_assets.dagster import SparkSessionResource, build_layout_checks, build_table_asset, table_uri
from prune_assets.layout_file import load_layout

TABLE = Path(os.environ.get("TABLE", "orders"))
COPY = TABLE.with_name(f"{TABLE.name}_laid_out")
LAYOUT = load_layout(Path(__file__).with_name("layout.yaml"))

defs = dg.Definitions(
    assets=[
        dg.AssetSpec("table", kinds={"parquet"}, metadata={"dagster/uri": table_uri(TABLE)}),
        build_table_asset("laid_out", table=COPY, layout=LAYOUT, source=TABLE, deps=["table"]),
    ],
    asset_checks=[build_layout_checks("table", TABLE, LAYOUT), build_layout_checks("laid_out", COPY, LAYOUT)],
    resources={"spark": SparkSessionResource()},
    executor=dg.in_process_executor,  # one Java for the whole run
)
