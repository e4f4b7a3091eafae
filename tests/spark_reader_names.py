"""Names in reports for the Spark version that runs the tests."""

from prune_assets.planner.spark_reader.spark_profile import reader_name

ALONE, HANDED_OVER = f"{reader_name(None)} alone", f"{reader_name(None)} with this plan"
