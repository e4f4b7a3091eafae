"""Directory and scale of the demo."""

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
    """Settings of the demo.

    `directory`: folder of all files that the demo writes; `scale`: TPC-H scale factor (1 is about 1 GB of text).
    """

    directory: Path
    scale: float

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> DemoSettings:
        """Read the settings from environment variables; raises WrongUse unless the scale is from 0.001 to 1000."""
        text = environment.get(SCALE_VARIABLE, "0.1")
        try:
            scale = float(text)
        except ValueError:
            scale = 0.0
        if not 0.001 <= scale <= 1000:
            raise WrongUse(
                f"{SCALE_VARIABLE}={text}: the scale is a number from 0.001 to 1000, e.g. {SCALE_VARIABLE}=1"
            )
        # An empty variable means the default, so that tables never end up in the current directory.
        directory = environment.get(DIRECTORY_VARIABLE, "").strip()
        return cls(Path(directory or ".demo").absolute(), scale)

    @property
    def generated(self) -> Path:
        """Directory of the generated files of this scale."""
        return self.directory / "generated" / f"sf{self.scale:g}"

    @property
    def reports(self) -> Path:
        """Directory of the skip reports."""
        return self.directory / "reports"

    @property
    def dagster_home(self) -> Path:
        """Directory of Dagster's run storage."""
        return self.directory / "dagster_home"

    def table(self, name: str) -> Path:
        """Return the directory of a table that the demo writes."""
        return self.directory / "tables" / name
