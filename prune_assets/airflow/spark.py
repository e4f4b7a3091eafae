"""A Spark session for a task: on this machine, or on the server of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Connection
    from pyspark.sql import SparkSession


def session_for(conn_id: str | None) -> SparkSession:
    """Return the session of a connection; without one, the configured Spark, `local[*]` by default.

    Raises WrongUse if the connection does not exist or has no host.
    """
    import warnings

    from prune_assets.spark.spark_session import spark_session

    # PySpark warns about pandas, which is not used here; the warning would appear in the task's log.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    if conn_id is None:
        return spark_session()
    return spark_session(conf=options_of(_connection(conn_id)))


def options_of(connection: Connection) -> dict[str, str]:
    """Return the Spark options of a connection.

    The connection's host is a Spark Connect server (sc://..) or a master, its extra has further Spark options, and its
    password is the token of a Connect server.
    """
    from parquet_core.errors import WrongUse

    host = connection.host
    if not host:
        raise WrongUse(
            f"connection {connection.conn_id}: has no host; give the address of a Spark Connect server, sc://host, or "
            "a master, local[4]"
        )
    host_and_port = host if connection.port is None else f"{host}:{connection.port}"
    options = {name: str(value) for name, value in connection.extra_dejson.items()}
    if not host_and_port.startswith("sc://"):
        return {"spark.master": host_and_port, **options}
    token = f"/;token={connection.password}" if connection.password else ""
    return {"spark.remote": f"{host_and_port}{token}", **options}


def _connection(conn_id: str) -> Connection:
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException, AirflowRuntimeError

    from parquet_core.errors import WrongUse

    try:
        return BaseHook.get_connection(conn_id)
    except (AirflowNotFoundException, AirflowRuntimeError):
        raise WrongUse(
            f"conn_id = {conn_id!r}: no such connection; add one with the address of Spark as its host, e.g. "
            "sc://spark:15002 or local[4], or leave conn_id out for Spark on this machine"
        ) from None
