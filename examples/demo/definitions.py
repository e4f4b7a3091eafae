"""What `workspace.yaml` loads: the demo's assets, checks, jobs, schedule and sensor.

Importing this starts no Spark and needs no data. The folder and the scale come from PRUNE_DEMO_DIR and SF.
"""

from __future__ import annotations

from examples.demo.jobs import demo_definitions
from examples.demo.settings import DemoSettings

defs = demo_definitions(DemoSettings.of())
