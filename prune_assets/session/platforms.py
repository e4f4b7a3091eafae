"""The platform that a process finds itself on, by what the platform leaves there.

Each marker is one that its vendor documents or asks for itself in public code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# A name, and a variable of the environment, a variable and its value, or a file. The first that is there counts: Spark
# of a platform may run on Kubernetes, and Fabric has the marker of Synapse too.
PLATFORMS = (
    ("Databricks", "DATABRICKS_RUNTIME_VERSION"),
    ("EMR Serverless", "SERVERLESS_EMR_JOB_ID"),
    ("EMR", "/mnt/var/lib/info/job-flow.json"),
    ("Glue", "GLUE_VERSION"),
    ("Dataproc", "DATAPROC_IMAGE_VERSION"),
    ("Fabric", "/home/trusted-service-user/.trident-context"),
    ("Synapse", "AZURE_SERVICE=Microsoft.ProjectArcadia"),
    ("Kubernetes", "KUBERNETES_SERVICE_HOST"),
)


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform, its version where the marker says it, and the marker."""

    name: str
    version: str | None
    marker: str


def this_platform(environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Platform | None:
    """Return the platform of this process; None where none is recognized, as on a machine of one's own.

    >>> this_platform({"GLUE_VERSION": "5.0"}).version
    '5.0'
    """
    for name, marker in PLATFORMS:
        variable, _, value = marker.partition("=")
        found = environment.get(variable)
        if marker.startswith("/") and (root / marker[1:]).exists():
            return Platform(name, None, marker)
        if found and found == (value or found):
            return Platform(name, found if variable.endswith("_VERSION") else None, marker)
    return None
