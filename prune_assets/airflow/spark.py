"""A Spark session for a task: of this machine, or of the server that a connection names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Connection
    from pyspark.sql import SparkSession


def session_for(conn_id: str | None) -> SparkSession:
    """Return the session of a connection, or without one what Spark is set up for, `local[*]` by default.

    WrongUse for a connection that is not there, or has no host.
    """
    import warnings

    from prune_assets.spark.spark_session import spark_session

    # Of PySpark's own about pandas, which nothing here asks for; it would stand in the log of the task.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    if conn_id is None:
        return spark_session()
    return spark_session(conf=options_of(_connection(conn_id)))


def options_of(connection: Connection) -> dict[str, str]:
    """Return the options that a connection stands for: its host is a server of Spark Connect (sc://..) or a master.

    The extra has further options of Spark; a password is the token of a Connect server.
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
