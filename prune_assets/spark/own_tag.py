"""Tag of the Spark jobs that prune-assets runs.

The tag distinguishes them from the jobs of users in event logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

OWN_TAG = "prune-assets"
# Spark Connect puts user and session before a tag: SparkConnect_SessionTag_User_.._Session_.._Tag_prune-assets.
_OF_CONNECT = f"_Tag_{OWN_TAG}"


def is_own(tags: Iterable[str]) -> bool:
    """Return True if the tags of a query show that prune-assets ran it.

    >>> is_own(["nightly", "prune-assets"]), is_own(["prune-assets-team"]), is_own([])
    (True, False, False)
    """
    return any(tag == OWN_TAG or tag.endswith(_OF_CONNECT) for tag in tags)
