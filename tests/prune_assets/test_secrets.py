"""Secrets in a table's URL reach the store, but nothing that is shown, cached or raised."""

from __future__ import annotations

import json
import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import PruneError, StorageFailure
from prune_assets.cli import main as prune
from prune_assets.planner.explain.plan import plan

SECRET = "s3cr3tw0rd"


class _WithRanges(SimpleHTTPRequestHandler):
    """Files of a directory, by ranges, as servers of signed URLs give them."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        asked = self.headers.get("Range")
        begin, stop = 0, len(data)
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, stop = (int(first), int(last) + 1 if last else stop) if first else (stop - int(last), stop)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Range", f"bytes {begin}-{stop - 1}/{len(data)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(stop - begin))
        self.end_headers()
        self.wfile.write(data[begin:stop])

    def log_message(self, *_):
        pass


@pytest.fixture
def signed_url(tmp_path, clean_environment):
    pq.write_table(pa.table({"x": list(range(1000))}), tmp_path / "t.parquet", row_group_size=100)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_WithRanges, directory=str(tmp_path)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    clean_environment.setenv("FSSPEC_HTTP", json.dumps({}))
    yield f"http://127.0.0.1:{server.server_port}/t.parquet?X-Amz-Credential=me&X-Amz-Signature={SECRET}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_signed_url_is_planned_and_its_signature_shown_nowhere(signed_url, tmp_path, monkeypatch):
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    made = plan(signed_url, where="x = 5")
    assert made.report.kept.row_groups == 1, "the server took the signature"
    texts = [made.report.to_json(), made.report.to_html(), str(made.report), repr(made.report)]
    for command in (["explain", signed_url, "--where", "x = 5"], ["inspect", signed_url]):
        for more in ([], ["--json"]):
            result = CliRunner().invoke(prune, [*command, *more])
            assert result.exit_code == 0, result.output
            texts.append(result.output)
    assert not [text for text in texts if SECRET in text]
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert not [path for path in kept if SECRET.encode() in path.read_bytes() or SECRET in str(path)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "address",
    [
        f"s3://KEY:{SECRET}@bucket/t",
        f"http://user:{SECRET}@127.0.0.1:9/t.parquet",
        f"http://127.0.0.1:9/t.parquet?sv=2024&sig={SECRET}",
        f"abfss://lake:{SECRET}@account.dfs.core.windows.net/t?sig={SECRET}",
        f"gibberish://me:{SECRET}@host/t",
    ],
)
def test_no_error_repeats_a_secret(address, store_at):
    store_at("s3", "http://127.0.0.1:9")
    for verb in (partial(pr.plan, where="x = 5"), partial(pr.check, layout=pr.LayoutSpec(sort_by=["x"]))):
        with pytest.raises(PruneError) as raised:
            verb(address)
        assert SECRET not in str(raised.value)
        assert SECRET not in repr(raised.value)


def test_a_container_is_no_secret():
    address = "abfss://lake@account.dfs.core.windows.net/t"
    assert str(StorageFailure(f"{address}: denied")) == f"{address}: denied"


@pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
def test_what_is_kept_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "t.parquet")
    plan(tmp_path / "t.parquet", where="x = 1")
    kept = list((tmp_path / "cache" / "metadata").rglob("*"))
    assert {path.is_dir() for path in kept} == {True, False}
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}
