"""Decode the events that this package uses; other events are recognized by their first bytes and not decoded."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

_SQL = "org.apache.spark.sql.execution.ui."
# Prefix of every line of an event log; Spark writes no blanks.
EVENT = b'{"Event":"'


class Metric(msgspec.Struct, frozen=True):
    """A metric of an operator. Later events report its values by the id of its accumulator."""

    name: str
    accumulatorId: int  # noqa: N815 - name in the log
    metricType: str = ""  # noqa: N815


class PlanNode(msgspec.Struct, frozen=True):
    """An operator of a plan in Spark's UI.

    `metadata`: the sections that Spark prints for a file scan, by title.
    """

    nodeName: str  # noqa: N815
    simpleString: str = ""  # noqa: N815
    children: list[PlanNode] = []
    metrics: list[Metric] = []
    metadata: dict[str, Any] = {}


class LogStart(msgspec.Struct, rename={"version": "Spark Version"}):
    """The first event of a log."""

    version: str = ""


class ApplicationStart(msgspec.Struct, rename={"name": "App Name", "identifier": "App ID", "user": "User"}):
    """The name of the application, and the user who started it."""

    name: str = ""
    identifier: str | None = None
    user: str = ""


class Environment(msgspec.Struct, rename={"spark": "Spark Properties", "system": "System Properties"}):
    """The settings of the application and of its Java process."""

    spark: dict[str, str] = {}
    system: dict[str, str] = {}


class ExecutionStart(msgspec.Struct):
    """The start of a query, with its plan.

    `time`: milliseconds since 1970-01-01.
    `rootExecutionId`: the command that runs the query; the query itself if it is not part of a command.
    """

    executionId: int  # noqa: N815
    physicalPlanDescription: str  # noqa: N815
    sparkPlanInfo: PlanNode  # noqa: N815
    time: int = 0
    modifiedConfigs: dict[str, str] = {}  # noqa: N815
    jobTags: list[str] = []  # noqa: N815
    rootExecutionId: int | None = None  # noqa: N815


class AdaptiveUpdate(msgspec.Struct):
    """A new plan for a running query."""

    executionId: int  # noqa: N815
    physicalPlanDescription: str  # noqa: N815
    sparkPlanInfo: PlanNode  # noqa: N815


class DriverUpdates(msgspec.Struct):
    """Metrics that the driver reports: pairs of accumulator and value."""

    accumUpdates: list[tuple[int, int]]  # noqa: N815


class Accumulable(msgspec.Struct, rename={"number": "ID", "value": "Value", "metadata": "Metadata"}):
    """An accumulator with its current value."""

    number: int
    value: Any = None
    metadata: str | None = None


class _StageInfo(msgspec.Struct, rename={"accumulables": "Accumulables"}):
    accumulables: list[Accumulable] = []


class StageCompleted(msgspec.Struct, rename={"info": "Stage Info"}):
    """The end of a stage, with the metrics of all its tasks, so that events of tasks need not be read."""

    info: _StageInfo


class ExecutionEnd(msgspec.Struct):
    """The end of a query, with a message if it failed."""

    executionId: int  # noqa: N815
    time: int = 0
    errorMessage: str | None = None  # noqa: N815


Event: TypeAlias = (
    LogStart
    | ApplicationStart
    | Environment
    | ExecutionStart
    | AdaptiveUpdate
    | DriverUpdates
    | StageCompleted
    | ExecutionEnd
)

_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    name.encode(): msgspec.json.Decoder(kind, strict=False)
    for name, kind in {
        "SparkListenerLogStart": LogStart,
        "SparkListenerApplicationStart": ApplicationStart,
        "SparkListenerEnvironmentUpdate": Environment,
        "SparkListenerStageCompleted": StageCompleted,
        f"{_SQL}SparkListenerSQLExecutionStart": ExecutionStart,
        f"{_SQL}SparkListenerSQLAdaptiveExecutionUpdate": AdaptiveUpdate,
        f"{_SQL}SparkListenerDriverAccumUpdates": DriverUpdates,
        f"{_SQL}SparkListenerSQLExecutionEnd": ExecutionEnd,
    }.items()
}
_LONGEST_NAME = max(map(len, _DECODERS)) + len(EVENT) + 1


def decode(line: bytes) -> Event | None:
    """Decode a line; None for an event that is not used. Raises msgspec.MsgspecError, RecursionError.

    >>> decode(b'{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}')
    LogStart(version='4.3.0')
    >>> decode(b'{"Event":"SparkListenerTaskEnd","Stage ID":0}') is None
    True
    """
    decoder = _DECODERS.get(line[len(EVENT) : line.find(b'"', len(EVENT), _LONGEST_NAME)])
    event: Event | None = None if decoder is None else decoder.decode(line)
    return event
