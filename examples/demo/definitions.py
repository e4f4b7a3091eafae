"""Definitions that `workspace.yaml` loads: assets, checks, jobs, schedule and sensor of the demo.

The import starts no Spark and needs no data. PRUNE_DEMO_DIR sets the directory, SF the scale factor.
"""

from __future__ import annotations

from examples.demo.jobs import demo_definitions
from examples.demo.settings import DemoSettings

defs = demo_definitions(DemoSettings.of())
