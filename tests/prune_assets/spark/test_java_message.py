"""Spark's errors as one line: the innermost message of Spark, without the stack trace."""

from __future__ import annotations

import socket

import pytest

from prune_assets.errors import SparkFailure
from prune_assets.spark.java_message import failure_of, is_of_spark, java_message

FAILED = (
    "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while reading file file:///t/b.parquet. "
    "Data type mismatches when reading Parquet column [zone]. SQLSTATE: KD001"
)
STACK = f"""An error occurred while calling o98.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:56)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 failed 1 times
Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:2935)
Caused by: org.apache.spark.SparkException: {FAILED}
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.x(QueryExecutionErrors.scala:898)
Caused by: org.apache.spark.sql.execution.datasources.SchemaColumnConvertNotSupportedException: column: [zone]
\t... 36 more
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (STACK, FAILED),
        ("[UNRESOLVED_COLUMN] No column x.;\n'Project [*]\n+- Relation", "[UNRESOLVED_COLUMN] No column x.;"),
        (": java.io.IOException: no\n\tat a.b\nCaused by: java.net.ConnectException: refused\n\tat c", "refused"),
        ("Java is gone", "Java is gone"),
        ("", "no message"),
        (f": a.b.C: {'x' * 20_000}", "x" * 300 + "..."),
    ],
)
def test_the_innermost_message_is_left(text, line):
    assert java_message(text) == line


def test_an_error_is_known_by_its_package():
    py4j = pytest.importorskip("py4j.protocol")
    assert is_of_spark(py4j.Py4JError("gone"))
    assert not is_of_spark(KeyError("x"))
    assert not is_of_spark(ConnectionRefusedError(111, "Connection refused"))


def test_a_java_that_has_ended_is_a_failure_of_spark():
    """Py4j raises the socket error unchanged."""
    py4j = pytest.importorskip("py4j.clientserver")
    from py4j.java_gateway import GatewayProperty, PythonProxyPool

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        java = py4j.JavaParameters(port=unused.getsockname()[1])
    shared = GatewayProperty(auto_field=False, pool=PythonProxyPool())
    with pytest.raises(ConnectionRefusedError) as refused:
        py4j.JavaClient(java, py4j.PythonParameters(), shared).send_command("x")
    failure = failure_of(refused.value)
    assert isinstance(failure, SparkFailure)
    assert str(failure) == "Spark failed: its Java does not answer (Connection refused); start a new session"


def test_other_errors_are_left_as_they_are():
    error = FileNotFoundError(2, "No such file")
    assert failure_of(error) is error
