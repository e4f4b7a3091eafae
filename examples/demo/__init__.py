"""The demo: TPC-H tables written, checked, planned and read, all through Dagster."""
