"""A Spark session for many small queries."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import warnings
from unittest.mock import patch


@contextlib.contextmanager
def own_session(*, spark=True):
    """Start Spark in a directory of its own, and stop it afterwards; caches of earlier runs are not used.

    If Spark is not installed, the session is None.
    """
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        settings = {"PRUNE_CACHE_DIR": f"{scratch}/cache", "TMPDIR": scratch}
        with patch.dict(os.environ, settings), patch.object(tempfile, "tempdir", scratch), _quietly():
            session = _started(scratch) if spark else None
            try:
                yield session
            finally:
                if session is not None:
                    session.stop()


def _started(scratch):
    from prune_assets.spark.spark_session import spark_session

    session = spark_session(
        master="local[1]",
        app_name="prune-assets fuzz",
        conf={
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            "spark.local.dir": f"{scratch}/local",
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}/derby",
            "spark.sql.ui.retainedExecutions": "1",
            "spark.ui.retainedJobs": "1",
            "spark.ui.retainedStages": "1",
            "spark.ui.enabled": "false",
        },
    )
    session.sparkContext.setLogLevel("OFF")
    return session


@contextlib.contextmanager
def _quietly():
    """Suppress Spark's log messages about predicates that it refuses."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
