"""Dagster's webserver and daemon, started as a user would, and calls of their GraphQL API."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
DEFINITIONS = Path(__file__).with_name("e2e_definitions.py")
OVER = {"SUCCESS", "FAILURE", "CANCELED"}
# Without this coordinator runs wait in a queue; without the second line a window covers the first page.
DAGSTER_YAML = """\
telemetry: {enabled: false}
nux: {enabled: false}
run_coordinator: {module: dagster._core.run_coordinator, class: DefaultRunCoordinator}
sensors: {use_threads: true, num_workers: 2}
schedules: {use_threads: true, num_workers: 2}
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until(ask, *, seconds, what):
    """Return the first result of a function that is truthy."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.3)
    return answer


class DagsterServer:
    """`dagster dev` on a free port, with a home of its own."""

    def __init__(self, root: Path, *, definitions: Path = DEFINITIONS, reports_url: str = "") -> None:
        self.root = root
        self.location = {"repositoryLocationName": definitions.name, "repositoryName": "__repository__"}
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        home = root / "dagster_home"
        home.mkdir()
        (home / "dagster.yaml").write_text(DAGSTER_YAML)
        settings = {"DAGSTER_HOME": home, "E2E_ROOT": root, "E2E_REPORTS_URL": reports_url, "PYTHONPATH": ROOT}
        # Dagster's limit of a minute is too short for a slow machine that starts six runs with a JVM each.
        settings["DAGSTER_GRPC_TIMEOUT_SECONDS"] = 300
        command = [sys.executable, "-m", "dagster", "dev", "-f", definitions, "-h", "127.0.0.1", "-p", str(port)]
        self.log = root / "dagster.log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=root,
                env={**os.environ, **{name: str(value) for name, value in settings.items()}},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_up(self) -> None:
        until(self._is_up, seconds=180, what=f"Dagster's webserver; see {self.log}")

    def _is_up(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        try:
            found = self.ask("{ workspaceOrError { ... on Workspace { locationEntries { loadStatus } } } }")
        except URLError:
            return False
        return [entry["loadStatus"] for entry in found["workspaceOrError"]["locationEntries"]] == ["LOADED"]

    def stop(self) -> None:
        """End the webserver, the daemon and the code server, which are in a session of their own."""
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def ask(self, query: str, **variables):
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def launch(self, *assets: str) -> str:
        """Launch a run that materializes assets and runs their checks; return its id."""
        keys = [{"path": asset.split("/")} for asset in assets]
        told = self.ask(
            """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
                __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }""",
            params={"selector": {**self.location, "jobName": "__ASSET_JOB", "assetSelection": keys}, "mode": "default"},
        )["launchRun"]
        assert told["__typename"] == "LaunchRunSuccess", told
        return told["run"]["runId"]

    def backfill(self, asset: str, partitions: list[str]) -> str:
        """Launch a run for each partition of an asset, as Dagster does it by default; return the backfill's id."""
        told = self.ask(
            """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
                __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }""",
            params={"assetSelection": [{"path": asset.split("/")}], "partitionNames": partitions},
        )["launchPartitionBackfill"]
        assert told["__typename"] == "LaunchBackfillSuccess", told
        return told["backfillId"]

    def wait_for_backfill(self, backfill: str, *, seconds: float) -> str:
        """Return how a backfill ended."""

        def status():
            found = self.ask(
                "query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill "
                "{ status } } }",
                id=backfill,
            )["partitionBackfillOrError"]["status"]
            return found if found.startswith(("COMPLETED", "FAILED", "CANCELED")) else None

        return until(status, seconds=seconds, what=f"the end of backfill {backfill}")

    def status(self, run: str) -> str:
        return self.ask("query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }", id=run)["runOrError"][
            "status"
        ]

    def wait(self, run: str, *, seconds: float = 120) -> str:
        """Return how a run ended."""
        return until(lambda: (found := self.status(run)) in OVER and found, seconds=seconds, what=f"the end of {run}")

    def runs(self, **tags: str) -> list[dict]:
        """Return the runs that have all these tags, the latest first."""
        asked = [{"key": f"dagster/{name}", "value": value} for name, value in tags.items()]
        return self.ask(
            """query($tags: [ExecutionTag!]) { runsOrError(filter: {tags: $tags}) { ... on Runs { results {
                runId status assetCheckSelection { name assetKey { path } } } } } }""",
            tags=asked,
        )["runsOrError"]["results"]

    def pid_of(self, run: str) -> int | None:
        """Return the process id of a run; None before it has started."""
        events = self.ask(
            """query($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events { ... on EngineEvent {
                metadataEntries { label ... on TextMetadataEntry { text } } } } } } }""",
            id=run,
        )["logsForRun"]["events"]
        entries = (entry for event in events for entry in event.get("metadataEntries", []))
        return next((int(entry["text"]) for entry in entries if entry["label"] == "pid"), None)

    def materialized(self, asset: str) -> str | None:
        """Return the run that last materialized an asset."""
        found = self.ask(
            "query($k: AssetKeyInput!) { assetOrError(assetKey: $k) { ... on Asset { "
            "assetMaterializations(limit: 1) { runId } } } }",
            k={"path": asset.split("/")},
        )["assetOrError"]
        return next((event["runId"] for event in found.get("assetMaterializations", [])), None)

    def checks(self, asset: str) -> dict[str, dict]:
        """Return the last execution of each check of an asset."""
        found = self.ask(
            """query($k: AssetKeyInput!) { assetNodeOrError(assetKey: $k) { ... on AssetNode { assetChecksOrError {
                ... on AssetChecks { checks { name executionForLatestMaterialization {
                    status runId evaluation { success description } } } } } } } }""",
            k={"path": asset.split("/")},
        )["assetNodeOrError"]["assetChecksOrError"]["checks"]
        return {check["name"]: check["executionForLatestMaterialization"] for check in found}

    def start_sensor(self, name: str) -> None:
        told = self.ask(
            "mutation($s: SensorSelector!) { startSensor(sensorSelector: $s) { __typename } }",
            s={**self.location, "sensorName": name},
        )
        assert told["startSensor"]["__typename"] == "Sensor"

    def start_schedule(self, name: str) -> None:
        self._change_schedule("startSchedule", name)

    def stop_schedule(self, name: str) -> None:
        self._change_schedule("resetSchedule", name)

    def _change_schedule(self, how: str, name: str) -> None:
        told = self.ask(
            f"mutation($s: ScheduleSelector!) {{ {how}(scheduleSelector: $s) {{ __typename }} }}",
            s={**self.location, "scheduleName": name},
        )
        assert told[how]["__typename"] == "ScheduleStateResult"
