"""Tables of Iceberg in a store whose keys have an empty part, as S3 Tables and catalogs with `location/` write them."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

import prune_assets as pr
from tests.prune_assets.tables.iceberg import iceberg_tables as made
from tests.prune_assets.tables.iceberg.avro_files import changed
from tests.prune_assets.tables.iceberg.iceberg_tables import IdentityTransform


def upload(url, root, key, data):
    name = root.removeprefix("s3://")
    request = Request(f"{url}/{name}/{quote(key)}", data, {"Content-Type": "application/octet-stream"}, method="PUT")
    with urlopen(request, timeout=30):
        pass


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a table, and the keys that conditions select."""
    table = made.catalog_in(tmp_path_factory.mktemp("written")).create_table("db.t", made.SCHEMA)
    with table.update_spec() as update:
        update.add_field("s", IdentityTransform(), "s")
    table.append(made.rows(random.Random(2), 0, 20, since=1971))
    here = made.folder(table)
    return table, {where: sorted(pr.read_arrow(here, where=where)["k"].to_pylist()) for where in ("s > 'a'", "true")}


@pytest.fixture
def changeable(written):
    """The table, whose files a test may change; afterwards they are as before."""
    files = made.files_in(written[0])
    yield written
    made.restore(written[0], files)


@pytest.mark.parametrize("data", ["t//data", "t///x=1/data", "/t/data", "t/data"])
@pytest.mark.parametrize("metadata", ["t/metadata", "t//metadata"])
def test_keys_with_an_empty_part_are_read(changeable, s3, moto_url, data, metadata):
    table, wanted = changeable
    here = Path(made.folder(table))
    moved = {f"{table.location()}/data": f"{s3}/{data}", f"{table.location()}/metadata": f"{s3}/{metadata}"}

    def elsewhere(location):
        for old, new in moved.items():
            location = location.replace(old, new)
        return location

    (manifest,) = table.current_snapshot().manifests(table.io)
    with changed(manifest.manifest_path.removeprefix("file://")) as file:
        for row in file.rows:
            row["data_file"]["file_path"] = elsewhere(row["data_file"]["file_path"])
    with changed(table.current_snapshot().manifest_list.removeprefix("file://")) as file:
        for row in file.rows:
            row["manifest_path"] = elsewhere(row["manifest_path"])
    current = table.metadata_location.rpartition("/")[2]
    moved_metadata = elsewhere((here / "metadata" / current).read_text())
    (here / "metadata" / current).write_text(moved_metadata.replace(table.location(), f"{s3}/t"))
    for path in here.rglob("*.*"):
        if path.is_file():
            upload(moto_url, s3, elsewhere(f"file://{path}").removeprefix(f"{s3}/"), path.read_bytes())
    metadata_path = f"{s3}/{metadata}/{current}"
    # Data outside of the table's folder is read if allowed.
    allow = [s3]
    for where, keys in wanted.items():
        assert sorted(pr.read_arrow(metadata_path, where=where, allow=allow)["k"].to_pylist()) == keys != []
        assert pr.count(metadata_path, where=where, allow=allow) == len(keys)
