"""Run the examples of the documentation guides exactly as written."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from guide_blocks import blocks_of, needs_spark, run_blocks

from parquet_core.storage import connection

GUIDES = {path.stem: path.read_text() for path in sorted((Path(__file__).parents[1] / "docs").glob("*.md"))}
WITH_SPARK = [name for name, text in GUIDES.items() if any(map(needs_spark, blocks_of(text)))]


@pytest.fixture
def place(request, guide, tmp_path, monkeypatch):
    """An empty directory, and where the guide names it the bucket `lake`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "90")  # as wide as a page of the site
    # A loaded machine may answer slowly, and the message about slowness is not part of a guide.
    monkeypatch.setattr(connection, "SILENT_SECONDS", 60.0)
    if "s3://lake/" in GUIDES[guide]:
        url = request.getfixturevalue("moto_url")
        request.getfixturevalue("store_at")("s3", url)
        urlopen(Request(f"{url}/lake", method="PUT"), timeout=30).close()


@pytest.mark.parametrize("guide", GUIDES)
@pytest.mark.usefixtures("place")
def test_a_guide_shows_what_happens_until_spark_is_needed(guide):
    blocks = list(takewhile(lambda block: not needs_spark(block), blocks_of(GUIDES[guide])))
    run_blocks(blocks, f"{guide}.md")


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("guide", WITH_SPARK)
def test_a_guide_shows_what_happens_with_spark(guide, spark):
    run_blocks(blocks_of(GUIDES[guide]), f"{guide}.md", spark=spark)
