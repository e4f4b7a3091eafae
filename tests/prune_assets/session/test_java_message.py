"""Errors of Spark as one line: the innermost message of its own, and nothing of the stack."""

from __future__ import annotations

import pytest

from prune_assets.session.java_message import is_of_spark, java_message

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
