"""The jars that Spark needs for S3, and a separate Spark process that has them from its start.

PRUNE_HADOOP_AWS_JARS sets a directory with the jars. Otherwise they are downloaded once from Maven Central into a cache
outside of the repository; if Maven Central is unreachable, there are no jars.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from urllib.request import urlopen

JARS = "PRUNE_HADOOP_AWS_JARS"
MAVEN = "https://repo1.maven.org/maven2"
MISSING = f"no hadoop-aws: set {JARS} to a directory with its jars, or let Maven Central be reached"


@cache
def jars():
    """Return the paths of hadoop-aws for pyspark's Hadoop and of its dependencies; empty if unavailable."""
    if named := os.environ.get(JARS):
        return sorted(map(str, Path(named).glob("*.jar")))
    version = _hadoop_version()
    place = Path.home() / ".cache" / "prune-tests" / f"hadoop-aws-{version}"
    try:
        return [str(fetched(place, address)) for address in _addresses(version)]
    except OSError:
        return []


def _hadoop_version():
    import pyspark

    (jar,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


def _addresses(version):
    """Yield the paths of the jars in Maven; versions of the AWS libraries are those with which Hadoop was built."""
    project = _read(f"{MAVEN}/org/apache/hadoop/hadoop-project/{version}/hadoop-project-{version}.pom").decode()
    (sdk,) = re.findall(r"<aws-java-sdk-v2.version>(.*?)<", project)
    found = re.findall(r"<amazon-s3-analyticsaccelerator-s3.version>(.*?)<", project)
    accelerator = "software/amazon/s3/analyticsaccelerator/analyticsaccelerator-s3"
    yield f"org/apache/hadoop/hadoop-aws/{version}/hadoop-aws-{version}.jar"
    yield f"software/amazon/awssdk/bundle/{sdk}/bundle-{sdk}.jar"
    for its in found:
        yield f"{accelerator}/{its}/analyticsaccelerator-s3-{its}.jar"


def _read(url):
    with urlopen(url, timeout=60) as answer:
        return answer.read()


def fetched(place, address):
    jar = place / address.rpartition("/")[2]
    if not jar.exists():
        place.mkdir(parents=True, exist_ok=True)
        part = jar.with_suffix(f".{os.getpid()}")
        part.write_bytes(_read(f"{MAVEN}/{address}"))
        part.rename(jar)
    return jar


@contextmanager
def spark_process(found, **settings):
    """Start a process with its own Spark without store settings; yield a function that runs functions there.

    The functions get the session as first argument. `environment` is set in the Python process during the call, never
    in the JVM.
    """
    conf = {"spark.jars": ",".join(found), "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", **settings}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_start_alone, initargs=(conf,)) as pool:

        def run(function, *arguments, environment=()):
            return pool.submit(_run, function, arguments, dict(environment)).result()

        yield run


def _start_alone(conf):
    for name in [*os.environ]:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")):
            del os.environ[name]
    start({name: value for name, value in conf.items() if value})


def start(conf):
    """Start Spark in this process."""
    from prune_assets.spark.spark_session import spark_session

    return spark_session(master="local[2]", conf=conf)


def _run(function, arguments, environment):
    from pyspark.sql import SparkSession

    before = dict(os.environ)
    os.environ.update(environment)
    try:
        return function(SparkSession.active(), *arguments)
    finally:
        os.environ.clear()
        os.environ.update(before)
