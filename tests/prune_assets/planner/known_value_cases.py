"""Conditions on one column that no bounds answer, and tables of so few values that these do."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import pyarrow as pa
import pyarrow.parquet as pq

UTC = dt.UTC
STRINGS = ["AIR", "air", "REG AIR", "  AIR ", "", "TAKE BACK", "Straße", "ẞ", "12", "x,y", "é"]
TYPES = {
    "s": (pa.string(), STRINGS),
    "n": (pa.int32(), [-7, -1, 0, 1, 2, 3, 5, 41, 2**31 - 1, -(2**31)]),
    "l": (pa.int64(), [-(2**63), 0, 3, 10**12, 2**63 - 1]),
    "u": (pa.uint8(), [0, 3, 255]),
    "d": (pa.date32(), [dt.date(2024, 3, 31), dt.date(2024, 2, 29), dt.date(1999, 12, 31), dt.date(2024, 3, 1)]),
    "ts": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 3, 31, hour, 30, tzinfo=UTC) for hour in (0, 1, 2, 23)]
        + [dt.datetime(1969, 7, 1, tzinfo=UTC)],
    ),
    "tn": (pa.timestamp("us"), [1711852200000000, 1699147800123456]),
    "f": (pa.float64(), [math.nan, -0.0, 0.0, 1.5, -2.25, math.inf]),
    "c": (pa.decimal128(9, 2), [decimal.Decimal(text) for text in ("0.00", "-1.25", "19.99", "9999999.99")]),
    "b": (pa.bool_(), [True, False]),
    "y": (pa.binary(), [b"", b"ab", b"\xff\x00"]),
    "z": (pa.string(), [None]),
}
# None of them raises, whatever the session.
CONDITIONS = {
    "s": [
        *(
            "lower(s) = 'air'",
            "trim(s) = 'AIR'",
            "length(s) = 3",
            "split(s, ' ')[0] = 'TAKE'",
            "concat(s, '-') = 'AIR-'",
        ),
        *("s RLIKE '^[A-C]'", "s NOT RLIKE '^A.'", "s NOT RLIKE '^AI'", "coalesce(lower(s), 'air') = 'air'"),
        *("lower(s) NOT IN ('air', '12')", "upper(s) LIKE 'STR%'", "s ILIKE 'a%'", "NOT (lower(s) = 'air')"),
        *("(lower(s) = 'air') IS NOT TRUE", "lower(s) <=> 'é'", "lower(s) IS NULL", "nullif(trim(s), '') IS NULL"),
        *(
            "try_cast(s AS INT) = 12",
            "substring(s, 2, 1) = 'I'",
            "instr(s, 'I') = 2",
            "regexp_extract(s, '([A-Z]+)', 1) = 'REG'",
        ),
        *("initcap(s) BETWEEN 'A' AND 'Reg'", "CASE WHEN lower(s) = 'air' THEN 1 ELSE 2 END = 1", "hash(s) % 2 = 0"),
        *(
            "reverse(s) = 'ria' OR length(s) > 7",
            "replace(s, 'A', '') = 'IR' AND length(s) < 9",
            "octet_length(s) <> length(s)",
        ),
    ],
    "n": [
        "n % 3 = 2",
        "n & 1 = 1",
        "bit_count(n) > 2",
        "hex(n) = '29'",
        "CAST(n AS STRING) LIKE '%1'",
        "n IN (1, n % 2)",
    ],
    "l": ["l % 10 = 3", "CAST(l AS STRING) RLIKE '0{12}$'", "bin(l) = '11'", "length(CAST(l AS STRING)) > 18"],
    "u": ["u % 4 = 3", "CAST(u AS STRING) = '255'", "hex(u) <> 'FF'"],
    "d": [
        *(
            "month(d) = 3",
            "dayofweek(d) = 1",
            "date_format(d, 'yyyy-MM') = '2024-03'",
            "last_day(d) = d",
            "d = last_day(d)",
        ),
        *("quarter(d) = 1", "weekofyear(d) = 9", "year(d) * 100 + month(d) = 202403", "CAST(d AS STRING) LIKE '%-31'"),
        *("extract(DOW FROM d) IN (1, 5)", "add_months(d, 1) > DATE '2024-04-01' AND dayofyear(d) < 70"),
    ],
    "ts": [
        *("hour(ts) = 2", "date_format(ts, 'HH') = '03'", "minute(ts) = 30", "CAST(ts AS STRING) LIKE '2024-03-31 0%'"),
        *("dayofweek(to_date(ts)) = 1", "from_utc_timestamp(ts, 'Asia/Tokyo') > TIMESTAMP '2024-03-31 12:00:00'"),
    ],
    "tn": ["hour(tn) = 2", "date_format(tn, 'SSSSSS') = '123456'", "CAST(tn AS STRING) LIKE '2023%'"],
    "f": [
        "CAST(f AS STRING) = '-0.0'",
        "f % 2 = 1.5",
        "abs(f) % 3 = 2.25",
        "isnan(sqrt(f))",
        "hash(f) % 2 = 0",
        "sign(f) = 0",
    ],
    "c": ["c % 2 = 1.99", "CAST(c AS STRING) LIKE '%.99'", "sign(c) = -1", "round(c) = 20"],
    "b": ["CAST(b AS STRING) = 'true'", "nvl(b, false)", "NOT coalesce(b, true)", "concat(b, 'x') = 'falsex'"],
    "y": ["hex(y) = 'FF00'", "length(y) = 2", "coalesce(y, X'61') = X'61'", "base64(y) = 'YWI='"],
    "z": [
        "lower(z) = 'a'",
        "coalesce(z, 'a') = 'a'",
        "length(z) IS NULL",
        "NOT (trim(z) = 'b')",
        "concat_ws('-', z, 'b') = 'b'",
    ],
}


def random_rows(chance, rows, *, least=1, most=3, names=tuple(TYPES)):
    """Return a table of columns that each hold few of their values."""
    found = {}
    for name in names:
        kind, values = TYPES[name]
        few = chance.sample(values, min(len(values), chance.randint(least, most)))
        few += [None] if chance.random() < 0.3 else []
        found[name] = pa.array([chance.choice(few) for _ in range(rows)], kind)
    return pa.table(found)


def write_parts(chance, directory, *, files=5, rows=24):
    """Write files of two row groups with pyarrow; some without dictionaries, some without statistics."""
    directory.mkdir(parents=True)
    for i in range(files):
        pq.write_table(
            random_rows(chance, rows),
            directory / f"{i}.parquet",
            row_group_size=rows // 2,
            use_dictionary=chance.random() < 0.8,
            write_statistics=chance.random() < 0.8,
            write_page_index=chance.random() < 0.5,
            data_page_size=64,
        )


def condition(chance):
    """Return a condition, or two of them put together."""
    parts = [chance.choice(CONDITIONS[chance.choice(list(CONDITIONS))]) for _ in range(chance.choice([1, 1, 2]))]
    text = f" {chance.choice(['AND', 'OR'])} ".join(f"({part})" for part in parts)
    forms = ["{0}", "{0}", "{0}", "NOT ({0})", "({0}) = false", "TRUE = ({0})", "({0}) <=> false"]
    return chance.choice(forms).format(text)
