"""Loads defs.yaml; there is nothing to change here."""

from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    """Return what the YAML defines."""
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
