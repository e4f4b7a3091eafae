from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog.log.path_fingerprints import fingerprints, may_repeat

PATHS = st.lists(st.text(alphabet="ab", max_size=3) | st.text(alphabet="ab", min_size=45, max_size=52), max_size=8)


@settings(deadline=None)
@given(PATHS, PATHS)
def test_a_path_has_one_number_wherever_it_stands(before, paths):
    alone = fingerprints(pa.array(paths, pa.string()))
    among = fingerprints(pa.array([*before, *paths], pa.string()))[len(before) :]
    sliced = fingerprints(pa.array([*before, *paths], pa.string())[len(before) :])
    assert alone.tolist() == among.tolist() == sliced.tolist()


@settings(deadline=None)
@given(PATHS, PATHS)
def test_what_is_there_twice_is_found(paths, more):
    flags = may_repeat([pa.array(paths, pa.string()), pa.array(more, pa.string())])
    together = [*paths, *more]
    found = [False] * len(together) if flags is None else flags.tolist()
    assert all(found[i] for i, path in enumerate(together) if together.count(path) > 1)


def test_names_of_one_job_differ():
    uuid = "0d2aa3c4-8a66-4f3c-9a5e-d8e1d4d1f0aa"
    paths = [f"day={d}/part-{n:05d}-{uuid}.c000.snappy.parquet" for d in range(30) for n in range(500)]
    assert may_repeat([pa.array(paths)]) is None
    assert len(np.unique(fingerprints(pa.array(paths)))) == len(paths)
