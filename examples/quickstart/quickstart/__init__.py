"""The Dagster project that defs.yaml defines."""
