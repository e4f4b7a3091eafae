"""Airflow started as in the example, and calls of its REST API."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from dagster_server import ROOT, free_port, until

EXAMPLE = ROOT / "examples" / "airflow"
DAGS = Path(__file__).with_name("airflow_dags.py")
OVER = {"success", "failed"}


class AirflowServer:
    """Scheduler, DAG processor, triggerer and API server on free ports, with a home of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lake = root / "lake"
        # The ports of the server and, after it, of the reports.
        port = free_port()
        self.url, self.reports_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
        shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("home", "lake"), dirs_exist_ok=True)
        shutil.copy(DAGS, root / "dags")
        settings = {
            "AIRFLOW_HOME": root / "home",
            "E2E_ROOT": root,
            "LAKE": self.lake,
            "PORT": port,
            "POKE_SECONDS": 1,
            "PRUNE_CACHE_DIR": root / "cache",
            "PYTHON": sys.executable,
            "PYTHONPATH": ROOT,
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__CORE__PARALLELISM": 2,
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": 5,
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": free_port(),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": free_port(),
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": False,
        }
        self.log = root / "airflow.log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [root / "run"],
                cwd=root,
                env={**os.environ, **{name: str(value) for name, value in settings.items()}},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._token = ""

    def wait_until_up(self, *dags: str) -> None:
        """Wait until every component runs and these DAGs are parsed."""
        until(self._is_up, seconds=150, what=f"Airflow; see {self.log}")
        self._token = self.ask("/auth/token")["access_token"]
        until(lambda: {*dags} <= self._dags(), seconds=60, what=f"DAGs of {self.ask('/api/v2/importErrors')}")

    def _is_up(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        try:
            health = self.ask("/api/v2/monitor/health")
        except (URLError, ConnectionError):
            return False
        return all(component["status"] == "healthy" for component in health.values())

    def _dags(self) -> set[str]:
        return {dag["dag_id"] for dag in self.ask("/api/v2/dags")["dags"]}

    def stop(self) -> None:
        """End all components, which are in a session of their own."""
        os.killpg(self._process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ask(self, path: str, body: object = None, *, method: str | None = None):
        """Return the response to a request.

        Read requests are repeated if the server fails, because its SQLite locks while the scheduler writes.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {getattr(self, '_token', '')}"}
        for left in reversed(range(1 if data is not None or method else 5)):
            try:
                with urlopen(Request(f"{self.url}{path}", data, headers, method=method), timeout=60) as response:
                    return json.load(response)
            except HTTPError as error:
                if not left or error.code < 500:
                    raise
            time.sleep(1)
        raise AssertionError

    def start(self, dag: str, **conf) -> str:
        """Start a run of a DAG and return its id."""
        return self.ask(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"]

    def runs(self, dag: str) -> list[dict]:
        return self.ask(f"/api/v2/dags/{dag}/dagRuns")["dag_runs"]

    def wait(self, dag: str, run: str, *, seconds: float = 150) -> str:
        """Return the final state of a run."""
        path = f"/api/v2/dags/{dag}/dagRuns/{quote(run)}"
        return until(
            lambda: (found := self.ask(path)["state"]) in OVER and found, seconds=seconds, what=f"the end of {run}"
        )

    def task(self, dag: str, run: str, task: str) -> dict:
        return self.ask(f"/api/v2/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}")

    def tasks(self, dag: str, run: str) -> dict[str, str]:
        """Return the state of each task of a run."""
        found = self.ask(f"/api/v2/dags/{dag}/dagRuns/{quote(run)}/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in found}

    def xcom(self, dag: str, run: str, task: str, key: str = "return_value"):
        """Return a value that a task pushed to XCom; None if there is no such value."""
        path = f"/api/v2/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/xcomEntries/{key}?deserialize=true"
        try:
            return self.ask(path)["value"]
        except HTTPError as error:
            if error.code != 404:
                raise
            return None

    def log_of(self, dag: str, run: str, task: str, attempt: int = 1) -> list[dict]:
        """Return the lines of a task's log, each with all that the UI shows of it."""
        path = f"/api/v2/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/logs/{attempt}?full_content=true"
        return self.ask(path)["content"]
