from __future__ import annotations

import os
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from dagster_server import ROOT, DagsterServer

# Airflow parses it, in a place of its own.
collect_ignore = ["airflow_dags.py"]
PICTURES = ROOT / ".e2e"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("e2e")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None: ...


@pytest.fixture(scope="session")
def reports_url(root):
    """Where the folder of reports is served."""
    (root / "reports").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=root / "reports")) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright; `make e2e` installs it")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no Chromium on this machine, and only root may install it: apt install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pictures():
    """The folder of pictures and logs."""
    PICTURES.mkdir(exist_ok=True)
    return PICTURES


@pytest.fixture(scope="session")
def ui(browser, root, reports_url, pictures):
    """Dagster, started where there is a browser to look at it."""
    server = DagsterServer(root, reports_url=reports_url)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()
        shutil.copy(server.log, pictures)


@pytest.fixture
def page(browser, request, pictures):
    """A new page; a screenshot of its final state is saved."""
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        page = context.new_page()
        page.set_default_timeout(30_000)
        yield page
        page.screenshot(path=pictures / f"{request.node.name.removeprefix('test_')}.png")


@pytest.fixture(scope="session")
def good_run(ui):
    """The run that materializes the good table, its checks, downstream assets and a skip report."""
    run = ui.launch("good", "after_good", "skip_reports/first_ids")
    return run, ui.wait(run)


@pytest.fixture(scope="session")
def broken_run(ui):
    run = ui.launch("broken", "after_broken")
    return run, ui.wait(run)
