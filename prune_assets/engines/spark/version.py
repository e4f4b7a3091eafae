"""The name under which reports show Spark: the version that reads, and the one whose rules are modelled."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

# Whose push-down and reader the predictions follow.
MODELLED = "4.3"


def reader_name(session_version: str | None) -> str:
    """Name the version of a session, or without one the installed version of pyspark, which is not imported.

    >>> reader_name("4.3.0"), reader_name("4.0.5")
    ('Spark 4.3', 'Spark 4.0 (modelled as 4.3)')
    """
    found = _installed() if session_version is None else session_version
    minor = ".".join(found.split(".")[:2])
    return f"Spark {MODELLED}" if minor == MODELLED else f"Spark {minor} (modelled as {MODELLED})"


def _installed() -> str:
    """Read the version of pyspark from its text: `importlib.metadata` would load half of the standard library."""
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        return MODELLED
    try:
        text = Path(package.origin).with_name("version.py").read_text("utf-8")
    except OSError:
        return MODELLED
    found = re.search(r"""^__version__.*=\s*["']([^"']+)""", text, re.MULTILINE)
    return MODELLED if found is None else found[1]
