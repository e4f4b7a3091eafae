"""Random Iceberg tables: columns of values, creation, growth and schema changes.

The first commit differs from the later ones: a column has another name or a narrower type, or is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planner.kinds import KINDS
from planner.tables import Column, random_values

# Iceberg's types, by their names in Spark SQL.
OF_ICEBERG = ["i32", "i64", "f32", "f64", "bool", "date", "str", "bin", "d4_2", "d9_0", "d15_2", "d38_10"]
OF_ICEBERG += ["ts_us", "ntz_us"]
NARROWER = {"i64": "i32", "f64": "f32", "d15_2": "d4_2"}
MODES = ["none", "counts", "truncate(1)", "truncate(4)", "truncate(16)", "full"]
CLOCK = ["years({})", "months({})", "days({})", "hours({})"]
ANY = ["{}", "bucket(4, {})"]
TRANSFORMS = {
    "integer": [*ANY, "truncate(10, {})"],
    "decimal": [*ANY, "truncate(50, {})"],
    "string": [*ANY, "truncate(1, {})", "truncate(3, {})"],
    "binary": ["bucket(3, {})", "truncate(1, {})"],
    "date": [*ANY, *CLOCK[:3]],
    "timestamp": [*ANY, *CLOCK],
    "timestamp_ntz": [*ANY, *CLOCK],
    "float": ["{}"],
    "boolean": ["{}"],
}
# More partitions make runs slow, and plans no harder.
MOST_PARTITIONS = 12


@dataclass(frozen=True)
class IcebergDraw:
    """A random table; `cuts`: row numbers where its commits begin and end.

    `fields`, `more_fields`: partition fields at first, and those added after the second commit. Differences of the
    first commit: `late`: missing columns, `filled`: missing columns with a default, `renamed` and `narrowed` columns.
    """

    columns: tuple[Column, ...]
    holes: dict[str, tuple[int, ...]]
    cuts: tuple[int, ...]
    version: int
    zone: str
    properties: dict[str, str]
    fields: tuple[str, ...] = ()
    more_fields: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    narrowed: dict[str, str] = field(default_factory=dict)
    deletes: str = ""

    @property
    def rows(self):
        return len(self.columns[0].values)


def random_table(draw):
    rows, version = draw.choice([30, 60, 90]), draw.choice([1, 2, 2, 3, 3])
    names = draw.sample(OF_ICEBERG, draw.randint(4, 7))
    columns = [Column((name,), name, random_values(draw, KINDS[name], rows)) for name in names]
    holes = {}
    if draw.random() < 0.4:
        columns += [
            Column(("st", name), name, random_values(draw, KINDS[name], rows)) for name in draw.sample(OF_ICEBERG, 2)
        ]
        holes = {"st": tuple(row for row in range(rows) if draw.random() < 0.2)}
    twin = draw.choice(columns)
    # Iceberg gives files another name for one with a blank, which reads by path refuse.
    columns.append(Column(("odd name" if version == 2 else "twin",), twin.kind, random_values(draw, twin.of, rows)))
    made = IcebergDraw(
        columns=tuple(map(_shortened, columns)),
        holes=holes,
        cuts=(0, *sorted(draw.sample(range(1, rows), draw.choice([1, 2, 3]))), rows),
        version=version,
        zone=draw.choice(["UTC", "UTC", "America/New_York", "Asia/Kolkata"]),
        properties=_properties(draw, columns, version),
        deletes=draw.choice(["", "", "", "positions", *(["equality"] if version > 1 else [])]),
    )
    return _changing(draw, replace(made, fields=_fields(draw, made), more_fields=_fields(draw, made)))


def _shortened(column):
    """Cut texts of thousands of letters, with which partitions would be named."""
    return replace(column, values=tuple(v[:200] if isinstance(v, str | bytes) else v for v in column.values))


def _properties(draw, columns, version):
    found = {"write.metadata.metrics.default": draw.choice(MODES), "write.distribution-mode": "none"}
    for column in columns:
        if draw.random() < 0.15:
            found[f"write.metadata.metrics.column.{'.'.join(column.path)}"] = draw.choice(MODES)
        if draw.random() < 0.15:
            found[f"write.parquet.bloom-filter-enabled.column.{'.'.join(column.path)}"] = "true"
    if draw.random() < 0.5:
        found |= {
            "write.parquet.row-group-check-min-record-count": "8",
            "write.parquet.row-group-check-max-record-count": "8",
            "write.parquet.row-group-size-bytes": "100",
        }
    if version > 1:
        found["write.delete.mode"] = "merge-on-read"
    return found | {"commit.manifest.min-count-to-merge": draw.choice(["2", "100"])}


def _fields(draw, made):
    found = {}
    for column in draw.sample(made.columns, draw.choice([0, 1, 1, 2])):
        transform = draw.choice(TRANSFORMS[column.of.family])
        few = len({str(value) for value in column.values}) <= MOST_PARTITIONS
        if few or transform.startswith(("bucket", "years")):
            found.setdefault(column.path, transform.format(column.sql))
    return tuple(found.values())


def _changing(draw, made):
    """Draw the schema differences of the first commit, for columns that are not partition sources."""
    if draw.random() < 0.5:
        return made
    free = [c for c in made.columns if len(c.path) == 1 and not any(c.sql in text for text in made.fields)]
    found = {"late": [], "filled": [], "renamed": [], "narrowed": {}}
    for column in draw.sample(free, min(len(free), 3)):
        (name,), what = column.path, draw.choice(["late", "filled", "renamed", "narrowed"])
        if what == "narrowed":
            kind = NARROWER.get(column.kind)
            if kind is not None and _fit(column, KINDS[kind], made.cuts[1]):
                found["narrowed"][name] = kind
        elif what != "filled":
            found[what].append(name)
        elif made.version == 3 and column.kind in {"i32", "i64", "str", "f64"}:
            found["filled"].append(name)
    return replace(made, **{what: it if isinstance(it, dict) else tuple(it) for what, it in found.items()})


def _fit(column, kind, stop):
    values = [value for value in column.values[:stop] if value is not None]
    if kind.family == "float":
        return all(value == value and abs(value) < 1e30 and float(f"{value:.3g}") == value for value in values)  # noqa: PLR0124
    return all(kind.low <= value <= kind.high for value in values)
