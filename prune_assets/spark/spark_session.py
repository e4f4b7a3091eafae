"""Spark sessions wherever Python runs.

A session is the active one, a remote one, or a local one with a detected Java.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import HIDDEN, redacted
from prune_assets.errors import JavaFailure
from prune_assets.extras import after_install, is_installed
from prune_assets.spark.java import use_java
from prune_assets.spark.local_options import is_local, local_options
from prune_assets.spark.own_tag import OWN_TAG
from prune_assets.spark.spark_versions import java_error, option_that_was_set
from prune_assets.spark.startup_log import StartupLog, cause
from prune_assets.spark.supported import check_installed, check_start, is_client_only
from prune_assets.sql.semantics import SparkSemantics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_STARTING = Lock()


def spark_session(
    *, master: str | None = None, conf: Mapping[str, str] | None = None, app_name: str = "prune-assets"
) -> SparkSession:
    """Return the active Spark session, or start one; this package never stops it.

    A running session is returned unchanged; options that it does not have are logged as a warning.
    With SPARK_REMOTE, or `spark.remote` in `conf`, the session is a Spark Connect session, and an `sc://` server
    needs no Java here. If spark-submit started this process, its master applies. Otherwise `master` is used, and
    without it the master of Spark's own configuration, by default `local[*]`.
    Raises MissingPackage without pyspark, JavaFailure without a Java or if Spark does not start, and UnsupportedFeature
    for a Spark that is not supported.
    """
    options = dict(conf or {})
    remote = "SPARK_REMOTE" in os.environ or "spark.remote" in options
    check_installed()
    if master is not None:
        options.setdefault("spark.master", master)
    with _STARTING:
        session = _running()
        if session is not None:
            _warn_of_differences(session, options)
            return session
        check_start(remote=remote)
        from pyspark.errors import PySparkException

        try:
            if remote:
                return _connect(options)
            return _start(options, app_name)
        except (PySparkException, java_error(), OSError) as error:
            raise JavaFailure(f"Spark did not start: {cause(str(error))}; see `prune doctor`") from error


def given_or_active(session: SparkSession | None) -> SparkSession:
    """Return the session that was given, or the active one.

    Raises WrongUse if no session is active, or if `session` is another object.
    """
    if session is None:
        session = _running() if is_installed("pyspark") else None
    if session is None:
        step = after_install("pyspark", "pass session=SparkSession.builder.getOrCreate()")
        raise WrongUse(f"no Spark session is active; {step}")
    if isinstance(session, SparkSemantics):
        raise WrongUse("session is a SparkSemantics, which reads nothing; pass a SparkSession as session=")
    if not hasattr(session, "read"):
        raise WrongUse(f"session is a {type(session).__name__}; pass a SparkSession as session=")
    return session


def _running() -> SparkSession | None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if is_client_only():
        return session
    from pyspark import SparkContext

    # A session of another thread is not active in this one, and Spark has no public API to find it.
    if session is None and SparkContext._active_spark_context is not None:  # noqa: SLF001 - see above
        return SparkSession.builder.getOrCreate()
    return session


# Same pattern as Spark's own spark.redaction.regex.
_SECRET = re.compile(r"(?i)secret|password|passphrase|token|access[.]?key|account[.]?key")


def _warn_of_differences(session: SparkSession, options: Mapping[str, str]) -> None:
    for name, value in options.items():
        actual = session.conf.get(name, None)
        if actual != value:
            before, wanted = (HIDDEN if _SECRET.search(name) else redacted(str(it)) for it in (actual, value))
            _LOG.warning("a Spark session is running already: %s remains %s and is not set to %s", name, before, wanted)


def _connect(options: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    url = options.pop("spark.remote", os.environ.get("SPARK_REMOTE", ""))
    options.pop("spark.master", None)  # Spark refuses a master together with a remote address
    if not url.startswith("sc://"):
        use_java()
    return SparkSession.builder.remote(url).config(map=dict(options)).getOrCreate()


def _start(options: dict[str, str], app_name: str) -> SparkSession:
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if "PYSPARK_PYTHON" not in os.environ:
        # Java itself runs this Python to plan a Python data source; Spark would take any `python3` on the PATH.
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit started this process, its Java runs
        options.pop("spark.master", None)
        _start_context(launch_gateway(), options, None)  # type: ignore[no-untyped-call]  # pyspark gives it no types
    else:
        _start_with_java({"spark.ui.showConsoleProgress": "false", **options}, app_name)
    return SparkSession.builder.getOrCreate()


def _start_with_java(options: Mapping[str, str], app_name: str) -> None:
    from pyspark import SparkContext

    started = SparkContext._gateway  # noqa: SLF001 - the gateway of a stopped session has no public API
    if started is not None:
        _start_context(started, options, app_name)
        return
    use_java()
    with StartupLog() as log:
        _start_context(_launch(options, log), options, app_name)


def _launch(options: Mapping[str, str], log: StartupLog) -> JavaGateway:
    """Start Java with the options for its command line.

    Java's memory, for example, cannot be set later.
    """
    from pyspark import SparkConf
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False).setAll(list(options.items()))
    try:
        output = {"stdout": log.writer, "stderr": log.writer}
        return launch_gateway(conf, popen_kwargs=output)  # type: ignore[no-untyped-call]  # pyspark gives it no types
    except PySparkRuntimeError as error:
        raise JavaFailure(f"Java ended before Spark started: {cause(log.text())}; see `prune doctor`") from error


def _start_context(gateway: JavaGateway, options: Mapping[str, str], app_name: str | None) -> None:
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(_jvm=gateway.jvm).setAll(list(options.items()))
    if app_name is not None and "spark.app.name" not in options:
        conf.setAppName(app_name)
    _settle_for_local(conf)
    SparkContext(conf=conf, gateway=gateway)


def _settle_for_local(conf: SparkConf) -> None:
    master = conf.get("spark.master", "")
    if master is None or not is_local(master):
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in local_options(master).items():
        conf.setIfMissing(name, value)


@contextmanager
def naming_jobs(session: SparkSession, what: str) -> Iterator[None]:
    """Describe the jobs of the block in Spark's UI.

    A description that the caller has set is kept in front of it.
    Spark Connect has no job descriptions.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        yield
        return
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(what if before is None else f"{before}: {what}")
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)


@contextmanager
def own_jobs(session: SparkSession, what: str) -> Iterator[None]:
    """Describe and tag the jobs of the block as prune-assets' own.

    `prune workload` ignores jobs with this tag.
    """
    context = getattr(session, "_sc", None)
    if context is None:
        tags, add, remove = session.getTags, session.addTag, session.removeTag
    else:
        tags, add, remove = context.getJobTags, context.addJobTag, context.removeJobTag
    with naming_jobs(session, what):
        if OWN_TAG in tags():
            yield
            return
        add(OWN_TAG)
        try:
            yield
        finally:
            remove(OWN_TAG)


# Per session and setting: the earlier value, and the number of holders.
_options_in_use: dict[tuple[int, str], tuple[str | None, int]] = {}
_options_lock = Lock()


@contextmanager
def temporary_option(session: SparkSession, key: str, value: str) -> Iterator[None]:
    """Set a session option while any thread holds it.

    Afterwards restore it, or unset it if it was not set.
    """
    name = id(session), key
    with _options_lock:
        before, holders = _options_in_use.get(name) or (option_that_was_set(session, key), 0)
        session.conf.set(key, value)
        _options_in_use[name] = before, holders + 1
    try:
        yield
    finally:
        with _options_lock:
            before, holders = _options_in_use.pop(name)
            if holders > 1:
                _options_in_use[name] = before, holders - 1
            elif before is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, before)
