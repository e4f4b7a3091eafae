"""Settings of spark-defaults.conf, for commands that plan without a session."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SETTING = re.compile(r"\s*spark\.sql\.session\.timeZone(?:\s*[=:]\s*|\s+)(\S+)\s*")


def configured_time_zone() -> str | None:
    """Return spark.sql.session.timeZone of the spark-defaults.conf in SPARK_CONF_DIR; None where none says it."""
    from prune_assets.sql.types.zones import zone_named

    directory = os.environ.get("SPARK_CONF_DIR")
    try:
        text = (Path(directory) / "spark-defaults.conf").read_text(encoding="utf-8") if directory else ""
    except (OSError, UnicodeDecodeError):
        return None
    zones = [match[1] for line in text.splitlines() if (match := _SETTING.fullmatch(line))]
    # The last one counts; what Java alone takes for a zone is as good as not known.
    return zones[-1] if zones and zone_named(zones[-1]) is not None else None
