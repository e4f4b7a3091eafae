"""Files are renamed in place, on local disks and in stores."""

from __future__ import annotations

import pytest

from parquet_core.errors import StorageFailure
from parquet_core.storage import find_file, move_files, put_if_absent

NAMES = {
    f"w/prune_group={i}/f.parquet": f"w/p={value}/f-g{i}.parquet" for i, value in enumerate(["a%2Fb", "é b", "x+y"])
}


def test_files_move_to_directories_of_partitions(tmp_path):
    moved_below(str(tmp_path))
    with pytest.raises(StorageFailure, match="not written"):
        move_files({str(tmp_path / "absent"): str(tmp_path / "there")})


@pytest.mark.parametrize("store", ["s3", "gcs", "azure"])
def test_objects_move_to_directories_of_partitions(request, store):
    moved_below(request.getfixturevalue(store))


def moved_below(place):
    for name in NAMES:
        assert put_if_absent(f"{place}/{name}", name.encode())
    move_files({f"{place}/{name}": f"{place}/{to}" for name, to in NAMES.items()})
    for name, to in NAMES.items():
        assert find_file(f"{place}/{name}") is None
        assert find_file(f"{place}/{to}").size == len(name)
