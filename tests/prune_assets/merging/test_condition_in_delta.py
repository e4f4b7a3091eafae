"""Delta skips by the condition of `plan_merge` as planned, for each type of a key: its literals need no cast."""

from __future__ import annotations

import pyarrow as pa
import pytest
import spark_packages

import prune_assets as pr
from tests.fuzz.merges.cases import KEYS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FILES = 8
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("warehouse")
    with spark_packages.process_with(spark_packages.DELTA, DELTA, place) as run:
        yield run


def opened(spark, place, key):
    """Return the files that the plan expects and that Delta opens, of a table with the key as column and partition."""
    import pyarrow.parquet as pq

    import deltalog

    arrow, plain, special = KEYS[key]
    values = [*plain, *filter(None, special)] if key == "STRING" else plain  # an empty string is null in partitions
    ordered = sorted(values)
    counts = {}
    for partitioned in (False, True) if key != "BINARY" else (False,):
        table = f"{place}/{partitioned}"
        names = [f"{number}.parquet" for number in range(FILES)]
        parts = [
            ordered[i * len(ordered) // FILES : (i + 1) * len(ordered) // FILES] or ordered[:1] for i in range(FILES)
        ]
        schema = pa.schema({"k": arrow, "v": pa.int32()})
        deltalog.create_table(table, schema, **({"partition_by": ["k"]} if partitioned else {}))
        snapshot = deltalog.open_snapshot(table)
        new = []
        for name, part in zip(names, parts, strict=True):
            rows = pa.table({"k": pa.array(part, arrow), "v": pa.array(range(len(part)), pa.int32())})
            pq.write_table(rows.drop_columns(["k"]) if partitioned else rows, f"{table}/{name}")
            new.append(deltalog.NewFile(name, {"k": _text(part[0])}) if partitioned else deltalog.NewFile(name))
        deltalog.append(snapshot, deltalog.adds_of(table, snapshot.schema, new))
        source = pa.table({"k": pa.array([parts[0][0], parts[5][0]], arrow)})
        planned = pr.plan_merge(table, source, on="t.k = s.k", when=["MATCHED DELETE"], session=spark)
        if planned.condition is None:
            counts[partitioned] = None
            continue
        frame = spark.read.format("delta").load(table).alias("t").where(planned.condition)
        counts[partitioned] = (planned.report.with_condition.files, len(frame.inputFiles()), planned.condition)
    return counts


def _text(value):
    """Return a value as the log of Delta has values of partitions."""
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix("+00:00")


@pytest.mark.parametrize("key", [*KEYS])
def test_delta_opens_the_files_that_the_plan_expects(run, tmp_path, key):
    for partitioned, counts in run(opened, str(tmp_path), key).items():
        if counts is None:
            # Texts of TIMESTAMP partitions without a zone depend on the session that wrote them.
            assert key in {"BINARY", "BOOLEAN"} or (key == "TIMESTAMP" and partitioned)
        elif key in {"FLOAT", "DOUBLE"} and not partitioned:
            # The upper bound is not written, because NaN may be above it; Delta skips only by both bounds.
            assert counts[1] == FILES
        else:
            planned, by_delta, condition = counts
            assert planned < FILES
            assert by_delta == planned, condition
