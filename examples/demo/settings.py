"""Where the demo lives and how large it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORY_VARIABLE = "PRUNE_DEMO_DIR"
SCALE_VARIABLE = "SF"


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """`directory` holds everything the demo makes; `scale` is TPC-H's scale factor (1 is about 1 GB of text)."""

    directory: Path
    scale: float

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> DemoSettings:
        """Read the settings from environment variables; WrongUse when the scale is not a positive number."""
        text = environment.get(SCALE_VARIABLE, "0.1")
        try:
            scale = float(text)
        except ValueError:
            scale = 0.0
        if not 0.001 <= scale <= 1000:
            raise WrongUse(
                f"{SCALE_VARIABLE}={text}: the scale is a number from 0.001 to 1000, e.g. {SCALE_VARIABLE}=1"
            )
        # Set but empty means the default: the current directory is no place for tables and histories.
        directory = environment.get(DIRECTORY_VARIABLE, "").strip()
        return cls(Path(directory or ".demo").absolute(), scale)

    @property
    def generated(self) -> Path:
        """The directory of the generated files of this scale."""
        return self.directory / "generated" / f"sf{self.scale:g}"

    @property
    def reports(self) -> Path:
        """The directory of the skip reports."""
        return self.directory / "reports"

    @property
    def dagster_home(self) -> Path:
        """The directory of Dagster's run storage."""
        return self.directory / "dagster_home"

    def table(self, name: str) -> Path:
        """Return the directory of a table that the demo writes."""
        return self.directory / "tables" / name
