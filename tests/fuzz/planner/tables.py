"""Random tables: values per column, and their distribution over files.

A table is a plain value that contains everything that was drawn, so that it can be reduced and saved as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from .kinds import KINDS, LONG, odd_value, order_of, plain_value

ROW = "row_number"  # a column that tells peers' rows apart; no predicate names it
WRITERS = {"pyarrow": 5, "spark": 3, "duckdb": 1, "polars": 1}
ZONES = ["UTC", "UTC", "America/New_York", "Asia/Kolkata", "+09:30"]
PARTITIONS = {
    "num": ["1", "02", "-3", "15"],
    "big": ["1", "3000000000", "99999999999999999999"],
    "day": ["1994-01-05", "1994-01-20", "2024-02-29"],
    "mix": ["10", "9", "1994-01-05", "x"],
    "txt": ["a%2Fb", "a b", "\u00e9", "zz"],
    "odd": ["1", "1.5", "7"],
}
# Types that Spark reads as a wider type.
NARROWER = {"i32": ("i8", "i16"), "i64": ("i8", "i16", "i32"), "f64": ("f32",), "d15_2": ("d4_2",), "d20_4": ("d4_2",)}


@dataclass(frozen=True)
class Column:
    """`path` of names; all but the last are structs. `values`: None is null."""

    path: tuple[str, ...]
    kind: str
    values: tuple

    @property
    def sql(self):
        return ".".join(f"`{part}`" if not part.isidentifier() else part for part in self.path)

    @property
    def of(self):
        return KINDS[self.kind]


@dataclass(frozen=True)
class File:
    """Rows `start` to `stop` of the table: who writes them, where, and what differs from the table's schema."""

    start: int
    stop: int
    writer: str
    options: dict
    directory: str = ""
    without: tuple[str, ...] = ()
    narrowed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A random table; `holes`: rows in which a struct is null, by name; `zone`: time zone of the reading session."""

    columns: tuple[Column, ...]
    holes: dict[str, tuple[int, ...]]
    files: tuple[File, ...]
    zone: str = "UTC"

    @property
    def rows(self):
        return len(self.columns[0].values)


def random_table(draw, *, by_spark=True):
    rows = draw.choice([40, 200, 200, 400])
    names = draw.sample(sorted(KINDS), draw.randint(4, 9))
    columns = [Column((name,), name, random_values(draw, KINDS[name], rows)) for name in names]
    holes = {}
    if draw.random() < 0.6:
        columns += [
            Column(("st", *extra, name), name, random_values(draw, KINDS[name], rows))
            for extra, name in (((), draw.choice(sorted(KINDS))), (("in",), draw.choice(["i64", "str", "f64"])))
        ]
        share = draw.choice([0, 0.1, 0.5])
        holes = {name: tuple(row for row in range(rows) if draw.random() < share) for name in ("st", "st.in")}
    # Two of a kind, to compare one with the other.
    twin = draw.choice(columns)
    columns.append(Column(("odd name",), twin.kind, random_values(draw, twin.of, rows)))
    return Table(tuple(columns), holes, tuple(_files(draw, rows, columns, by_spark)), draw.choice(ZONES))


def random_values(draw, kind, rows):
    spread = draw.choice([4, 60, 60, rows * 4, 1_000_000])
    odd = draw.choice([0, 0, 0.02, 0.3])
    pool = [odd_value(draw, kind) if draw.random() < odd else plain_value(draw, kind, spread) for _ in range(rows)]
    if kind.family in {"string", "binary"} and draw.random() < 0.1:
        pool[draw.randrange(rows)] = ("q" if kind.family == "string" else b"q") * LONG
    match draw.choice(["sorted", "sorted", "reversed", "shuffled", "clustered", "constant", "few"]):
        case "sorted":
            values = sorted(pool, key=order_of)
        case "reversed":
            values = sorted(pool, key=order_of, reverse=True)
        case "clustered":
            width = draw.choice([10, 37, 100])
            runs = [sorted(pool, key=order_of)[i : i + width] for i in range(0, rows, width)]
            values = [value for run in draw.sample(runs, len(runs)) for value in draw.sample(run, len(run))]
        case "constant":
            values = [pool[0]] * rows
        case "few":
            few = pool[:3]
            values = [draw.choice(few) for _ in range(rows)]
        case _:
            values = pool
    return tuple(_with_nulls(draw, values))


def _with_nulls(draw, values):
    share = draw.choice([0, 0, 0, 0.05, 0.9, 1])
    values = [None if share and draw.random() <= share else value for value in values]
    if draw.random() < 0.3:
        start, length = draw.randrange(len(values)), len(values) // 3
        values[start : start + length] = [None] * len(values[start : start + length])
    return values


def _files(draw, rows, columns, by_spark):
    writers = {name: share for name, share in WRITERS.items() if by_spark or name != "spark"}
    count = draw.choice([1, 1, 2, 3])
    cuts = [0, *sorted(draw.sample(range(1, rows), count - 1)), rows]
    alike = draw.choices(list(writers), list(writers.values()))[0] if draw.random() < 0.7 else None
    names = draw.sample(sorted(PARTITIONS), draw.choice([1, 2])) if draw.random() < 0.2 else []
    for i in range(count):
        writer = alike or draw.choices(list(writers), list(writers.values()))[0]
        values = {name: draw.choice([*PARTITIONS[name], "__HIVE_DEFAULT_PARTITION__"]) for name in names}
        if i == 0 and "mix" in values:
            values["mix"] = "x"  # of numbers alone Spark would make a number, which its literals are not all
        directory = "/".join(f"{name}={value}" for name, value in values.items())
        without, narrowed = _drift(draw, columns, start=cuts[i], stop=cuts[i + 1]) if i else ((), {})
        yield File(cuts[i], cuts[i + 1], writer, options_of(draw, writer, columns), directory, without, narrowed)


def _drift(draw, columns, *, start, stop):
    """Leave columns out, or store them in a narrower type that holds all their values."""
    if draw.random() < 0.7:
        return (), {}
    tops = [column for column in columns if len(column.path) == 1]
    without = tuple(column.path[0] for column in draw.sample(tops, 1))
    narrowed = {}
    for column in tops:
        kind = KINDS[draw.choice(NARROWER.get(column.kind, (column.kind,)))]
        if kind.name == column.kind or column.path[0] in without:
            continue
        if all(value is None or fits(value, column.of, kind) for value in column.values[start:stop]):
            narrowed[column.path[0]] = kind.name
    return without, narrowed


def fits(value, kind, narrow):
    if kind.family == "float":
        return False  # Spark 4.3 widens them, and a NaN has a payload: left for a case of its own
    if kind.family == "decimal":
        moved, rest = divmod(value, 10 ** (kind.arrow.scale - narrow.arrow.scale))
        return rest == 0 and narrow.low <= moved <= narrow.high
    return narrow.low <= value <= narrow.high


def options_of(draw, writer, columns):
    """Draw the options of a writer; column names are those of leaves."""
    leaves = [".".join(column.path) for column in columns]
    flags = {".".join(column.path) for column in columns if column.kind == "bool"}
    group, page = draw.choice([20, 50, 100, 400]), draw.choice([3, 10, 25, 1000])
    blooms = [name for name in leaves if name not in flags and draw.random() < 0.5]
    dictionaries = draw.choice([leaves, [], [name for name in leaves if draw.random() < 0.5]])
    match writer:
        case "pyarrow":
            return {
                "row_group_size": group,
                "max_rows_per_page": page,
                "write_page_index": draw.random() < 0.85,
                "write_statistics": draw.choice([True] * 6 + [False]),
                "bloom": blooms,
                "dictionary": dictionaries,
                "dictionary_pagesize_limit": draw.choice([1 << 20, 1 << 20, 30]),
                "data_page_version": draw.choice(["1.0", "2.0"]),
                "compression": draw.choice(["none", "snappy", "zstd"]),
                "store_decimal_as_integer": draw.random() < 0.5,
                "store_schema": draw.random() < 0.5,
                "required": draw.random() < 0.3,
                "int96": draw.random() < 0.1,
            }
        case "spark":
            options = {
                "parquet.block.row.count.limit": group,
                "parquet.page.row.count.limit": page,
                "parquet.page.size.row.check.min": 1,
                "parquet.columnindex.truncate.length": draw.choice([1, 4, 64]),
                "parquet.writer.version": draw.choice(["v1", "v2"]),
                "parquet.dictionary.page.size": draw.choice([1 << 20, 1 << 20, 128]),
                "compression": draw.choice(["none", "snappy", "zstd"]),
            }
            for name in leaves:
                if name in blooms:
                    options[f"parquet.bloom.filter.enabled#{name}"] = "true"
                    options[f"parquet.bloom.filter.expected.ndv#{name}"] = 64
                if name not in dictionaries:
                    options[f"parquet.enable.dictionary#{name}"] = "false"
                if draw.random() < 0.05:
                    options[f"parquet.column.statistics.enabled#{name}"] = "false"
            return {"timestamps": draw.choice(["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"]), "parquet": options}
        case "duckdb":
            return {"parquet_version": draw.choice(["v1", "v2"]), "bloom": draw.random() < 0.7}
    return {"row_group_size": group, "data_page_size": draw.choice([64, 256, None]), "statistics": draw.random() < 0.9}


def arrow_rows(table, start=0, stop=None, *, without=(), narrowed=None):
    """Return rows of the table as Arrow, structs put together."""
    stop = table.rows if stop is None else stop
    arrays, tops = {}, []
    for column in table.columns:
        if column.path[0] not in without:
            kind = KINDS[(narrowed or {}).get(column.path[0], column.kind)]
            arrays[column.path] = stored_array(column.values[start:stop], column.of, kind)
            tops.append(column.path[0])
    columns = {name: _assembled((name,), arrays, table.holes, start, stop) for name in dict.fromkeys(tops)}
    return pa.table(columns | {ROW: pa.array(range(start, stop), pa.int64())})


def _assembled(path, arrays, holes, start, stop):
    if path in arrays:
        return arrays[path]
    names = dict.fromkeys(other[len(path)] for other in arrays if other[: len(path)] == path)
    children = {name: _assembled((*path, name), arrays, holes, start, stop) for name in names}
    missing = set(holes.get(".".join(path), ()))
    mask = pa.array([row in missing for row in range(start, stop)], pa.bool_())
    return pa.StructArray.from_arrays(
        list(children.values()), fields=[pa.field(name, array.type) for name, array in children.items()], mask=mask
    )


def stored_array(values, kind, stored):
    """Return values of a kind as an array of the kind that is stored."""
    match kind.family:
        case "decimal":
            from decimal import Context, Decimal

            exact = Context(prec=80)
            scaled = [None if v is None else exact.scaleb(Decimal(v), -kind.arrow.scale) for v in values]
            return pa.array(scaled, kind.arrow).cast(stored.arrow)
        case "date":
            return pa.array(values, pa.int32()).cast(pa.date32())
        case "timestamp" | "timestamp_ntz":
            return pa.array(values, pa.int64()).cast(kind.arrow)
    return pa.array(values, stored.arrow)
